"""What keeping every answer costs.

Requests through the ledger beside the same requests through a bare client.

    python -m benchmarks.judge_requests [--short] [--docs PAGE]
    python -m benchmarks.judge_requests --base_url http://127.0.0.1:8000/v1 --model NAME

Without an address a stand-in on this machine answers after --latency seconds. The server is asked
once before, so that neither side finds it cold; no question is asked twice, so that neither finds
the other's prompts in its cache. Each round asks both in --parts by turns, so that a machine whose
speed changes meets both alike. The peer is aiohttp, which takes a third of httpx's time. Both run
in this process, with the collector of cycles as the command sets it: what is measured is a request,
and not the start of a command.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.measuring import Cost, Measure, Report, finish
from evalprep.annotate.answers import Question, Who, questions_of
from evalprep.annotate.asking import Asker
from evalprep.annotate.ledger import Ledger
from evalprep.annotate.place import FILE
from evalprep.annotate.providers.service import WIRES, Service
from evalprep.cli import COLLECT_AFTER
from evalprep.packs.annotator import Item, SampleRef, Value

STAND_IN = """
import asyncio, json, sys
latency = float(sys.argv[1])
CHOICE = {"message": {"content": "Rating: 4"}, "finish_reason": "stop"}
REPLY = json.dumps({"id": "1", "choices": [CHOICE],
                    "usage": {"prompt_tokens": 9, "completion_tokens": 3}}).encode()
HEAD = b"HTTP/1.1 200 OK\\r\\nContent-Type: application/json\\r\\n"
HEAD += b"Content-Length: %d\\r\\n\\r\\n" % len(REPLY)
async def serve(reader, writer):
    try:
        while True:
            head = await reader.readuntil(b"\\r\\n\\r\\n")
            lines = head.lower().split(b"\\r\\n")
            length = next(int(line.split(b":")[1]) for line in lines if b"content-length" in line)
            await reader.readexactly(length)
            await asyncio.sleep(latency)
            writer.write(HEAD + REPLY)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()
async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=256)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(main())
"""


@dataclass
class Plain:
    """Asks for a rating of a number.

    Attributes:
        mark: Makes its questions others than those of the other side and of other parts.
        most: Tokens of a reply.
    """

    mark: str = ""
    most: int = 4
    name: str = "plain"
    version: str = "1"
    values: Mapping[str, Value] = field(default_factory=lambda: {"rating": Value(1, 5)})
    paid: bool = True
    needs: Sequence[str] = ()
    tasks: Sequence[str] = ("quiz",)
    schema: None = None

    @property
    def sampling(self) -> Mapping[str, Any]:
        """Greedy, and short."""
        return {"temperature": 0, "max_tokens": self.most}

    def items(self, rows: Any, metadata: Any) -> Iterator[Item]:  # noqa: ARG002
        """So many questions."""
        for at in range(rows):
            # As in rubrics, the same words come first, so that a server may keep what it computed
            # of them.
            prompt = (
                "Rate the answer from 1 to 5. "
                + "It says that mice sleep at day. " * 12
                + f"Answer {self.mark}{at}."
            )
            yield Item((SampleRef("quiz", f"q{at}", at),), prompt)

    def read(self, item: Item, reply: str) -> tuple[str, dict[str, float]]:  # noqa: ARG002
        """Any reply will do."""
        return "ok", {"rating": 1.0}


def questions(ledger: Ledger, count: int, model: str, one: Plain) -> list[Question]:
    return questions_of(one, one.items(count, {}), Who(model), ledger.attempts)


def through_ledger(
    url: str, model: str, count: int, size: int, plain: Plain
) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder, Ledger(Path(folder) / FILE, write=True) as ledger:
        asked = questions(ledger, count, model, plain)
        begun, used = time.perf_counter(), time.process_time()

        async def go() -> None:
            async with Service(
                WIRES["openai"], url, None, connections=size, deadline=600
            ) as service:
                await Asker(ledger, run="run", size=size, retries=0).ask(service, asked)

        asyncio.run(go())
        wall, used = time.perf_counter() - begun, time.process_time() - used
        assert sum(len(several) for several in ledger.attempts().values()) == count
        # A model may be cut at its few tokens; what counts here is that every answer was kept.
    assert all(one.judgement().status in {"ok", "truncated"} for one in asked)
    return wall, used


def bare(url: str, model: str, count: int, size: int, plain: Plain) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder, Ledger(Path(folder) / FILE, write=True) as ledger:
        bodies = [
            {
                "model": model,
                "messages": [dict(message) for message in question.messages],
                **plain.sampling,
            }
            for question in questions(ledger, count, model, plain)
        ]
    begun, used = time.perf_counter(), time.process_time()

    async def go() -> None:
        import aiohttp

        waiting = iter(bodies)
        connector = aiohttp.TCPConnector(limit=size)
        async with aiohttp.ClientSession(connector=connector) as client:

            async def work() -> None:
                for body in waiting:
                    async with client.post(f"{url}/chat/completions", json=body) as answer:
                        assert (await answer.json())["choices"]

            await asyncio.gather(*(work() for _ in range(size)))

    asyncio.run(go())
    return time.perf_counter() - begun, time.process_time() - used


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--base_url")
    parser.add_argument("--model", default="stand-in")
    parser.add_argument("--requests", type=int, default=5000)
    parser.add_argument("--in_flight", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--parts", type=int, default=5)
    parser.add_argument("--max_tokens", type=int, default=4)
    parser.add_argument("--latency", type=float, default=0.05)
    parser.add_argument("--short", action="store_true", help="500 requests, once")
    parser.add_argument("--docs", type=Path, help="page whose table is replaced")
    args = parser.parse_args()
    if args.short:
        args.requests, args.rounds, args.parts = 500, 1, 1
    gc.set_threshold(*COLLECT_AFTER)
    server = None
    url = args.base_url
    if url is None:
        command = [sys.executable, "-c", STAND_IN, str(args.latency)]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        url = f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
    rounds = []
    try:
        bare(url, args.model, args.in_flight, args.in_flight, Plain("warm ", args.max_tokens))
        rounds = [_round(number, url, args) for number in range(args.rounds)]
    finally:
        if server is not None:
            server.kill()
            server.wait()
    # The round in which the machine did least besides.
    ours, peer = min(rounds, key=lambda both: both[0].cpu + both[1].cpu)
    for name, cost in (("through the ledger", ours), ("aiohttp alone", peer)):
        each = 1000 * cost.cpu / args.requests
        print(f"{name}: {args.requests / cost.wall:.0f} per s, {each:.2f} ms of CPU time each")
    what = f"{args.requests:,} requests with the ledger written"
    # 0.8 ms of CPU time where the bare client takes 0.35 ms, and 900 per s where it sends 1,062.
    line = Measure(what, ours, peer, "aiohttp alone", goal=0.8 / 0.35, goal_wall=1062 / 900)
    sizes = {"requests in flight": args.in_flight, "seconds per reply": args.latency}
    report = Report(
        "judge_requests", "python -m benchmarks.judge_requests", [line], sizes, ("aiohttp",)
    )
    return finish(report, page=args.docs, keeps=not (args.short or args.base_url))


def _round(number: int, url: str, args: argparse.Namespace) -> tuple[Cost, Cost]:
    """What both sides took for all requests, in parts by turns: ours, then the bare client."""
    sides = {"ledger": through_ledger, "bare": bare}
    times = dict.fromkeys(sides, (0.0, 0.0))
    for part in range(args.parts):
        for name in list(sides) if (number + part) % 2 else list(sides)[::-1]:
            plain = Plain(f"{name[0]}{number}.{part}.", args.max_tokens)
            count = args.requests // args.parts
            wall, used = sides[name](url, args.model, count, args.in_flight, plain)
            times[name] = times[name][0] + wall, times[name][1] + used
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    ours, peer = (Cost(used, wall, peak) for wall, used in times.values())
    return ours, peer


if __name__ == "__main__":
    raise SystemExit(main())
