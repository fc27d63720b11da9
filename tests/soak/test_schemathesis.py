import pytest

from tests.functions.http import test_schemathesis as described
from tests.support.aws.gateway import serving
from tests.support.aws.stack import Stack

content, named = described.content, described.named


@pytest.mark.usefixtures("named")
@pytest.mark.parametrize("seed", range(5))
def test_many_more_calls(stack: Stack, seed: int) -> None:
    with serving(stack) as gateway:
        described.run(gateway, "--max-examples", "400", seed=described.SEED + seed)
