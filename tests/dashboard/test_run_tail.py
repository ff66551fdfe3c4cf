"""What events tell, in order, and read on from where one was."""

import json
from pathlib import Path

import anyio

from dashboard.making import Written, key
from dashboard.serving import ENOUGH
from fedclade.dashboard.app import Pages
from fedclade.dashboard.run_cache import RunCache
from fedclade.dashboard.run_tail import SHOWN_GROUPS, RunTail
from fedclade.dashboard.streams import TailPosition, run_stream
from fedclade.store.events import ResumeEvent, RoundEvent


def texts(story: RunTail) -> list[str]:
    return [f"{each.round}: {each.text}" for each in story.event_lines]


def test_curves_and_groups_by_hand(tmp_path: Path) -> None:
    run = Written(tmp_path / "run")
    run.round(1, 0.25)
    log = tmp_path / "run" / "events.jsonl"
    first = RunTail().read_on(log)
    run.round(2, 0.5, {"a": 0, "b": 0, "c": 1, "d": 1}, splits=[{"cluster": 0}])
    second = first.read_on(log)
    assert [point.round for point in second.points] == [1, 2]
    assert [point.value for point in second.points] == [0.25, 0.5]
    # 100 bytes at the start, then 0.6 + 0.4 MB in a round
    assert [round(point.megabytes, 6) for point in second.points] == [1.0001, 2.0001]
    # clients a to d have 0.5 + 0, 1, 2, 3 quarters of a hundredth
    assert [round(each or 0, 6) for each in second.points[1].by_group] == [0.50125, 0.50625]
    assert texts(second) == [
        "0: started with 4 clients",
        "1: 1 group",
        "2: 1 group was split",
        "2: 2 groups instead of 1",
    ]
    assert (second.clients, second.round) == (4, 2)
    assert second.points[:1] == first.points
    assert second.read_on(log) == second == RunTail().read_on(log)
    run.folder.close()


def test_clients_that_reach_the_disk_after_their_evaluation(tmp_path: Path) -> None:
    run, cache = Written(tmp_path / "run"), RunCache(tmp_path)
    opened = TailPosition.end_of(*cache.run_with_tail(key("run")))
    table = tmp_path / "run" / "clients.arrows"
    empty = table.read_bytes()
    run.round(1, 0.25)
    whole = table.read_bytes()

    async def watch() -> None:
        stream = run_stream(cache, Pages(tmp_path).render, key("run"), opened, anyio.Event())
        groups = (event["data"] async for event in stream if event["event"] == "groups")
        table.write_bytes(empty)
        with anyio.fail_after(ENOUGH):
            assert "No client has been evaluated yet" in await anext(groups)
            table.write_bytes(whole)
            assert '<td class="number">25.4 %</td>' in await anext(groups)  # 25 and 0, 1, 2, 3 quarters

    anyio.run(watch)
    run.folder.close()


def test_a_line_is_told_when_it_is_whole(tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    whole = json.dumps({"event": "start", "round": 0, "clients": 9, "time": "2026-11-16T06:48:23.545+00:00"}).encode()
    story = RunTail().read_on(log)
    for end in (0, 1, 20, len(whole)):
        log.write_bytes(whole[:end])
        story = story.read_on(log)
        assert story.event_lines == ()
    log.write_bytes(whole + b"\n" + whole[:10])
    story = story.read_on(log)
    assert texts(story) == ["0: started with 9 clients"]
    assert story.event_lines[0].time == "06:48:23"
    assert story.offset == len(whole) + 1


def test_a_log_that_was_cut_back_is_another_story(tmp_path: Path) -> None:
    run = Written(tmp_path / "run")
    run.round(1, 0.25)
    run.folder.log_event(RoundEvent(round=2))  # behind the checkpoint
    run.folder.close()
    log = tmp_path / "run" / "events.jsonl"
    before = RunTail().read_on(log)
    assert before.round == 2
    with run.folder as folder:
        folder.acquire()
        folder.restore_latest()
        folder.log_event(ResumeEvent(round=1))
    after = before.read_on(log)
    assert after.inode != before.inode
    assert after.round == 1
    assert texts(after)[-1] == "1: resumed"
    log.unlink()
    assert after.read_on(log) == RunTail()


def test_the_time_of_a_round_is_since_the_last_start(tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    events = [
        {"event": "start", "round": 0, "time": "2026-01-01T00:00:00+00:00"},
        {"event": "round", "round": 4, "time": "2026-01-01T00:00:08+00:00"},
    ]
    log.write_text("".join(json.dumps(event) + "\n" for event in events))
    story = RunTail().read_on(log)
    assert story.seconds_per_round == 2.0
    later = [
        {"event": "resume", "round": 4, "time": "2026-01-02T00:00:00+00:00"},
        {"event": "round", "round": 6, "time": "2026-01-02T00:00:10+00:00"},
    ]
    with open(log, "a") as more:
        more.write("".join(json.dumps(event) + "\n" for event in later))
    assert story.read_on(log).seconds_per_round == 5.0


def test_what_went_wrong_is_told(tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    events: list[object] = [
        {"event": "newcomers", "round": 2, "clients": ["p", "q", "r", "s", "t", "u", "v"]},
        {"event": "left", "round": 3, "clients": ["a"]},
        {
            "event": "round",
            "round": 3,
            "refused": [{"client": "b", "verb": "train", "reason": "not finite"}],
            "silent": [{"client": "c", "verb": "train"}],
            "facts": {
                "discovery": {"count": 2, "sizes": [3, 4]},
                "moved": ["d"],
                "clustered_again": True,
                "undone": [1],
            },
        },
        {"event": "resume", "round": 3, "repaired": True},
        "text",
        {"no": "event"},
        {"event": "round", "facts": "x", "refused": "y", "silent": [3], "round": "z", "bytes_up": "many", "time": 4},
    ]
    log.write_text("".join(json.dumps(event) + "\n" for event in events))
    story = RunTail().read_on(log)
    assert texts(story) == [
        "2: joined: p, q, r, s, t and 2 more",
        "3: left: a",
        "3: looked for groups: count 2, sizes [3, 4]",
        "3: 1 split was undone",
        "3: moved to another group: d",
        "3: groups were looked for again",
        "3: 1 reply refused, the first of b: not finite",
        "3: no answer from c",
        "3: resumed, repaired",
    ]
    assert (story.unread, story.clients) == (2, 7)


def test_many_groups_have_no_curves(tmp_path: Path) -> None:
    run = Written(tmp_path / "run", [f"c{number}" for number in range(SHOWN_GROUPS + 1)])
    run.round(1, 0.5, {client: number for number, client in enumerate(run.clients)})
    [point] = RunTail().read_on(tmp_path / "run" / "events.jsonl").points
    assert (point.groups, point.by_group) == (SHOWN_GROUPS + 1, ())
    run.folder.close()
