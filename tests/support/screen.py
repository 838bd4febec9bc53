"""What a terminal shows after some output: as much of an xterm as our cards and the tests use."""
import re

CONTROL = re.compile(r"\x1b\[([?<>0-9;]*)([ -/]*[@-~])|\x1b([78VW<\\\x03])|\x1b\(B|\x1b#[3-6]")
# As in tmux, anything up to its end is no text, and an ESC that does not begin that end takes along what
# is behind it; OSC may also end with BEL. The group is where an OSC 8 leads.
STRING = re.compile(r"\x1b(?:\](?:8;[^;\x07\x1b]*;([^\x07\x1b]*)|(?:[^\x07\x1b]|\x1b[^\\])*)(?:\x07|\x1b\\|\x1b?\Z)"
                    r"|[PX^_](?:[^\x1b]|\x1b[^\\])*(?:\x1b\\|\x1b?\Z))")

# What takes text out of sight, or out of its order, and what ends that: a palette of the colour of
# what is behind (OSC), output that is held back, text from right to left
HIDES = {"4": "104", "10": "110", "11": "111", "?2026h": "?2026l", "2 k": "0 k"}


class Screen:
    def __init__(self, text, rows=30, cols=80):
        self.rows, self.cols = rows, cols
        self.cells = [[" "] * cols for _ in range(rows)]
        self.row = self.col = 0
        self.top, self.bottom = 0, rows - 1
        self.saved = (0, 0)
        self.kept = set()  # what SPA protects
        self.protects = self.keeps = False
        self.link, self.linked = "", set()  # where what is shown leads, and what leads anywhere
        self.unseen = set()  # of HIDES
        at = 0
        while at < len(text):
            found = CONTROL.match(text, at)
            string = STRING.match(text, at)
            if string:
                self.sight(string.group()[2:].partition(";")[0].rstrip("\x1b\\\x07"))
                self.link = self.link if string.group(1) is None else string.group(1)
                at = string.end()
            elif found:
                self.control(found)
                at = found.end()
            else:
                self.show(text[at])
                at += 1

    def sight(self, what):
        if what in HIDES:
            self.unseen.add(what)
        self.unseen = {x for x in self.unseen if HIDES[x] != what}

    def lines(self):
        return ["".join(row).rstrip() for row in self.cells]

    def up(self, cells):
        return {(r - (self.top < r <= self.bottom), c) for r, c in cells if r != self.top}

    def down(self):
        if self.row == self.bottom:
            del self.cells[self.top]
            self.cells.insert(self.bottom, [" "] * self.cols)
            self.kept = self.up(self.kept)
            self.linked = self.up(self.linked)
        elif self.row < self.rows - 1:
            self.row += 1

    def show(self, char):
        if char == "\r":
            self.col = 0
        elif char == "\n":
            self.down()
        elif char >= " ":
            if self.col == self.cols:
                self.col = 0
                self.down()
            self.cells[self.row][self.col] = " " if self.unseen else char
            self.kept.discard((self.row, self.col))
            self.linked.discard((self.row, self.col))
            if self.link:
                self.linked.add((self.row, self.col))
            if self.protects:
                self.kept.add((self.row, self.col))
            self.col += 1

    def blank(self, row, start, end):
        for col in range(start, end):
            if not self.keeps or (row, col) not in self.kept:
                self.cells[row][col] = " "
                self.linked.discard((row, col))

    def control(self, found):
        numbers, what, kept = found.groups()
        values = [int(x) for x in (numbers or "").split(";") if x.isdigit()]
        first = values[0] if values else 0
        self.sight((numbers or "") + (what or ""))
        if kept == "7":
            self.saved = (self.row, self.col)
        elif kept == "8":
            self.row, self.col = self.saved
        elif kept in ("V", "W"):
            self.protects = kept == "V"
            self.keeps |= self.protects
        elif what == '"q':
            self.protects, self.keeps = first == 1, False
        elif what == "H":
            self.row = min(max(first, 1), self.rows) - 1
            self.col = min(max(values[1] if len(values) > 1 else 1, 1), self.cols) - 1
        elif what == "A":
            self.row = max(self.row - max(first, 1), 0)
        elif what == "K":
            self.blank(self.row, self.col, self.cols)
        elif what == "J":
            start = 0 if first == 2 else self.row
            for row in range(start, self.rows):
                self.blank(row, 0 if first == 2 or row > self.row else self.col, self.cols)
        elif what == "r":
            self.top = max(first, 1) - 1
            self.bottom = (values[1] if len(values) > 1 else self.rows) - 1
            self.row = self.col = 0
