/*
 * ttyturn.h - of several runs at one terminal, whose turn it is to ask there
 *
 * Two runs in front, of one script say, read the same keyboard: each key goes to one of them, and nobody
 * can tell to which. So only one shows a question at a time, and none while another relays the terminal
 * for its command. What is in another process group is not in front, and is not waited for: it may have
 * been stopped (SIGSTOP), or by a shell, and leaves its turn to nobody.
 */
#ifndef CLI_ASK_TTYTURN_H
#define CLI_ASK_TTYTURN_H

#include <stdbool.h>

/**
 * struct ttyturn
 * @fd: of a file that all runs of this user share; a byte of it stands for a process group at a
 *      terminal. -1: there is none, and nobody is waited for
 * @tty: the terminal's device
 */
struct ttyturn {
	int fd;
	unsigned tty;
};

/** ttyturn_open() - while files may be opened; without the directory for it there is no turn. */
void ttyturn_open(struct ttyturn *t);

/** ttyturn_at() - which terminal it is about, by a descriptor of that. */
void ttyturn_at(struct ttyturn *t, int tty);

/** ttyturn_take() - Return: whether it is ours now; also where it has been before. Never waits. */
bool ttyturn_take(const struct ttyturn *t);

/**
 * ttyturn_draw() - our command may write to a terminal as it likes, a question of another run included
 * @tty: a descriptor of it; what is none is nothing. Until ttyturn_close()
 */
void ttyturn_draw(const struct ttyturn *t, int tty);

/** ttyturn_is_drawn() - whether the command of another run may write to the terminal. */
bool ttyturn_is_drawn(const struct ttyturn *t);

/** ttyturn_leave() - let others have it. */
void ttyturn_leave(const struct ttyturn *t);

/** ttyturn_close() - for good. */
void ttyturn_close(struct ttyturn *t);

#endif
