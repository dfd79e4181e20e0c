"""A person who saves a file at random moments, as a program for a process."""

from __future__ import annotations

# In a process of its own: with threads, the interpreter's lock would hide most of the interleavings.
PERSON = """
import os, random, sys, time
path, rounds, style, seed = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
dice = random.Random(seed)

def read():
    while True:
        try:
            with open(path, "rb") as file:
                return file.read()
        except FileNotFoundError:
            pass

def save(data, style):
    if style == "rename":
        aside = os.path.join(os.path.dirname(path), ".editor~")
        with open(aside, "wb") as file:
            file.write(data)
        os.replace(aside, path)
    elif style == "truncate":
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC)
        except FileNotFoundError:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        if dice.random() < 0.2:
            time.sleep(dice.random() * 0.002)
        os.write(descriptor, data)
        os.close(descriptor)

for number in range(rounds):
    time.sleep(dice.random() * 0.003)
    data = read() + b"person %d\\n" % number
    save(data, dice.choice(["rename", "truncate"]) if style == "mixed" else style)
    print(number, flush=True)
"""
