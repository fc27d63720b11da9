"""Puts the writer together."""

from standings.dynamodb.scores import DynamoScores
from standings.runtime import wiring
from standings.runtime.config import Config
from standings.services.pacing import Pacing
from standings.services.writer import Writer
from standings.sqs.dead_letters import DeadLetters
from standings.sqs.sending import Sender


def writer(config: Config, tools: Pacing) -> Writer:
    """The writer's service."""
    dynamodb = wiring.client("dynamodb")
    scores = DynamoScores(dynamodb, config.scores_table, config.receipts_table, tools)
    return Writer(wiring.registry(dynamodb, config, tools), scores, tools)


def dead_letters(config: Config) -> DeadLetters:
    """Where refused messages go."""
    sender = Sender(lambda: wiring.client("sqs"), config.dead_letter_queue_url)
    return DeadLetters(sender, wiring.failure_bucket(config))
