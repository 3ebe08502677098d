"""A program that is a subreaper: starts processes of its own in every way there is, while hundreds of others
that it never started become its children and end. Prints what went wrong; nothing, where nothing did."""

import os
import signal
import subprocess
import sys
from functools import partial

import trio

from toolsearchd.system import children, processes

CROWD = """
import os, sys, time
for number in range(int(sys.argv[1])):
    if os.fork() == 0:
        if os.fork() == 0:
            if number % 2:
                os.setsid()
            time.sleep(number % 5 / 1000)
            os._exit(number % 256)
        os._exit(0)
    os.wait()
"""
OWN = 40
wrong = []


def ending(status):
    return [sys.executable, "-I", "-S", "-c", f"import os; os._exit({status})"]


def check(what, status, expected):
    if status != expected:
        wrong.append(f"{what}: {status}, not {expected}")


async def opened(status):
    process = await children.open_process(ending(status))
    check("open_process", await process.wait(), status)


async def polled(status):
    """Its owner is in no hurry."""
    process = await children.open_process(ending(status))
    await trio.sleep(0.2)
    with trio.move_on_after(20):
        while process.returncode is None:
            await trio.sleep(0.01)
    check("open_process, late", process.returncode, status)


async def run(status):
    done = await children.run_process(ending(status), check=False, capture_stdout=True)
    check("run_process", done.returncode, status)


async def popen(status):
    with children.starting():
        process = subprocess.Popen(ending(status))
        children.adopt(process)
    await trio.sleep(0.05)
    check("Popen", process.wait(), status)


async def missing(_):
    try:
        await children.run_process(["/nonexistent/program"])
    except FileNotFoundError:
        return
    wrong.append("no error for a program that is not there")


async def crowd():
    process = await children.open_process([sys.executable, "-I", "-S", "-c", CROWD, "200"])
    check("crowd", await process.wait(), 0)


async def reap():
    with trio.open_signal_receiver(signal.SIGCHLD) as deaths:
        async for _ in deaths:
            while not children.reap():
                await trio.sleep(0.01)


def zombies():
    table = processes.read_all().values()
    return [process for process in table if process.parent == os.getpid() and not process.is_live]


async def main():
    async with trio.open_nursery() as reaper:
        reaper.start_soon(reap)
        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(crowd)
            for number in range(OWN):
                way = (opened, polled, run, popen, missing)[number % 5]
                nursery.start_soon(partial(way, number + 1))
                await trio.sleep(0.01)
        left = zombies()
        with trio.move_on_after(20):
            while left:  # the last of a crowd may end between two looks
                await trio.sleep(0.01)
                left = zombies()
        if left:
            wrong.append(f"zombies: {left}")
        reaper.cancel_scope.cancel()


if not children.become_subreaper():
    sys.exit(77)
trio.run(main)
print("\n".join(wrong), end="")
