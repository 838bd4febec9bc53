/*
 * ttyquiet.h - what a command has had its terminal answer is not what the user types to the next program
 */
#ifndef LAUNCHER_TTYQUIET_H
#define LAUNCHER_TTYQUIET_H

/**
 * ttyquiet_discard() - throw away what has come in on a terminal, and what comes within a moment
 * @fd: of the terminal, in whose foreground the caller is, or ignores SIGTTOU
 *
 * A terminal answers questions (CSI 6n and many others) as if somebody typed, some with a text of the one
 * who asks, and the modes that the command chose may have made lines of it. What was typed ahead goes,
 * too. The moment is 30 ms without input, 300 at most: an answer that takes longer on its way comes
 * through. Output that a key has stopped goes on. The modes are what they were.
 */
void ttyquiet_discard(int fd);

#endif
