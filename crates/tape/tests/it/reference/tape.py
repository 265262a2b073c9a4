"""A tape as SSC-3 describes it, in the fewest words: a list of objects and a position.

It draws commands by a seed, and prints each with what has to come of it:

    COMMAND ARGUMENTS | KEY ASC STREAM INFORMATION MOVED OBJECT FILEMARKS BLOCK

KEY to INFORMATION are of the sense data ("-" where the command succeeds; INFORMATION "-" where none has to be valid), MOVED is
the number of bytes that come back, OBJECT and FILEMARKS are the position afterwards, BLOCK names what was read.
"""
import random
import sys

FM, EOM, ILI = 0x80, 0x40, 0x20


class Tape:
    def __init__(self):
        self.objects = []  # None: a filemark; otherwise (number, size)
        self.at = 0

    def put(self, what):
        del self.objects[self.at:]
        self.objects.append(what)
        self.at += 1

    def read(self, length, sili):
        if length == 0:
            return None, 0, "-"
        if self.at == len(self.objects):
            return (8, 0x0005, 0, length), 0, "-"
        what = self.objects[self.at]
        self.at += 1
        if what is None:
            return (0, 0x0001, FM, length), 0, "-"
        number, size = what
        moved = min(size, length)
        if size != length and not sili:
            return (0, 0, ILI, length - size), moved, number
        return None, moved, number

    def fixed(self, blocks, size):
        done = []
        while len(done) < blocks:
            left = blocks - len(done)
            if self.at == len(self.objects):
                return (8, 0x0005, 0, left), done
            what = self.objects[self.at]
            self.at += 1
            if what is None:
                return (0, 0x0001, FM, left), done
            if what[1] != size:
                return (0, 0, ILI, left), done
            done.append(what[0])
        return None, done

    def space(self, code, count):
        if code == 3:
            self.at = len(self.objects)
            return None
        step = 1 if count > 0 else -1
        run = 0
        left = abs(count)
        while left:
            if step > 0 and self.at == len(self.objects):
                return (8, 0x0005, 0, abs(count) if code == 2 else left)
            if step < 0 and self.at == 0:
                return (0, 0x0004, EOM, abs(count) if code == 2 else left)
            what = self.objects[self.at if step > 0 else self.at - 1]
            self.at += step
            mark = what is None
            if code == 0 and mark:
                return (0, 0x0001, FM, left)
            if code == 0 or (code == 1 and mark):
                left -= 1
            if code == 2:
                run = run + 1 if mark else 0
                if run == abs(count):
                    return None
        return None

    def locate(self, target):
        if target > len(self.objects):
            self.at = len(self.objects)
            return (8, 0x0005, 0, None)
        self.at = target
        return None

    def locate_file(self, number):
        self.at = 0
        while number:
            if self.at == len(self.objects):
                return (8, 0x0005, 0, None)
            number -= self.objects[self.at] is None
            self.at += 1
        return None


def main(seed, steps):
    draw = random.Random(seed)
    tape = Tape()
    number = 0
    sizes = [1, 512, 512, 512, 700, 4096]
    for _ in range(steps):
        sense, moved, block = None, 0, "-"
        what = draw.choice("wwwwwfrrrrRsssSSSSllLbe")
        if what == "w":
            size = draw.choice(sizes)
            number += 1
            tape.put((number, size))
            words = f"write {number} {size}"
        elif what == "f":
            count = draw.choice([0, 1, 1, 1, 2, 3])
            for _ in range(count):
                tape.put(None)
            words = f"filemarks {count}"
        elif what == "r":
            length, sili = draw.choice([0, 1, 512, 600, 4096]), draw.choice([0, 1])
            sense, moved, block = tape.read(length, sili)
            words = f"read {length} {sili}"
        elif what == "R":
            blocks = draw.choice([0, 1, 2, 5])
            sense, done = tape.fixed(blocks, 512)
            moved, block = 512 * len(done), ",".join(map(str, done)) or "-"
            words = f"fixed {blocks} 512"
        elif what in "sS":
            code = draw.choice([0, 0, 0, 1, 1, 2, 3])
            count = draw.choice([-9, -3, -2, -1, 0, 1, 2, 3, 9])
            if code == 3:
                count = 0
            sense = tape.space(code, count)
            words = f"space{6 if what == 's' else 16} {code} {count}"
        elif what in "lL":
            target = draw.randrange(len(tape.objects) + 3)
            sense = tape.locate(target)
            words = f"locate{10 if what == 'l' else 16} {target}"
        elif what == "b":
            target = draw.randrange(6)
            sense = tape.locate_file(target)
            words = f"file {target}"
        elif draw.random() < 0.1:
            del tape.objects[tape.at:]
            words = "erase"
        else:
            tape.at = 0
            words = "rewind"
        marks = sum(one is None for one in tape.objects[:tape.at])
        key, asc, stream, info = sense if sense else ("-", "-", "-", "-")
        info = "-" if info is None else info
        print(words, "|", key, asc, stream, info, moved, tape.at, marks, block)


main(int(sys.argv[1]), int(sys.argv[2]))
