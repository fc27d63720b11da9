"""Members are registered, hidden, shown and removed."""

from tests.support.builders.stages.read_first import event
from tests.support.builders.stages.writers import Subject
from tests.support.faults import faulty_client


def test_registering_gives_every_sum_a_zero(subject: Subject) -> None:
    subject.admin.put("club-1", "m", None)
    subject.admin.put("b", "m", None)
    image, open_image = subject.image(board="club-1"), subject.image()

    assert image is not None
    assert open_image is not None
    assert sorted(image.values.values()) == [0]
    assert open_image.values == {}


def test_a_member_is_hidden_shown_removed_and_back(subject: Subject) -> None:
    subject.write(event("1", points=5, best=1, dated=1))
    assert subject.admin.put("b", "m", hidden=True) == {"board": "b", "member": "m", "hidden": True}
    hidden = subject.image()
    assert hidden is not None
    assert (hidden.hidden, subject.total()) == (True, 5)
    assert subject.admin.put("b", "m", None)["hidden"] is True
    assert subject.admin.put("b", "m", hidden=True)["hidden"] is True
    assert subject.image() == hidden  # nothing to do is no write
    subject.write(event("2", points=2, best=4))
    subject.admin.put("b", "m", hidden=False)
    assert subject.total() == 7
    before = subject.image()
    assert before is not None
    subject.admin.remove("b", "m")
    removed = subject.image()
    assert removed is not None
    assert (removed.removed, dict(removed.values), dict(removed.tie_keys)) == (True, {}, {})
    subject.write(event("3", points=1))
    back = subject.image()
    assert back is not None
    assert (back.removed, subject.total()) == (False, 1)
    assert before.version < removed.version < back.version


def test_a_change_survives_conflicts_and_lost_answers(subject: Subject) -> None:
    subject.write(event("1", points=5))
    subject.client.steps.extend(
        [faulty_client.conflict, faulty_client.error("ThrottlingException"), faulty_client.lost_answer]
    )
    subject.admin.put("b", "m", hidden=True)
    image = subject.image()
    assert image is not None
    assert image.hidden
    subject.client.steps.append(faulty_client.lost_answer)
    subject.admin.remove("b", "m")  # it was removed by this very call: no 404

    again = subject.image()
    assert again is not None
    assert (again.removed, again.version) == (True, image.version + 1)
