"""Puts the writer together."""

from standings.aws.dynamodb.scores.scores import DynamoScores
from standings.aws.sqs.refused_messages import DeadLetters
from standings.aws.sqs.sender import Sender
from standings.runtime.environment import Config
from standings.runtime.retry import Clock
from standings.wiring import building_blocks
from standings.write.writer import Writer


def writer(config: Config, tools: Clock) -> Writer:
    """The writer's service."""
    dynamodb = building_blocks.client("dynamodb")
    scores = DynamoScores(dynamodb, config.scores_table, config.receipts_table, tools)
    return Writer(building_blocks.registry(dynamodb, config, tools), scores, tools)


def dead_letters(config: Config) -> DeadLetters:
    """Where refused messages go."""
    sender = Sender(lambda: building_blocks.client("sqs"), config.dead_letter_queue_url)
    return DeadLetters(sender, building_blocks.failure_bucket(config))
