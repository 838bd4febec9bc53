/*
 * prompt_tty.h - ask at the terminal
 */
#ifndef CLI_ASK_PROMPT_TTY_H
#define CLI_ASK_PROMPT_TTY_H

#include <stdbool.h>

#include "cli/ask/asker.h"
#include "cli/ask/ttyturn.h"

/** prompt_tty_exists() - whether we have a controlling terminal, be it that of others just now. */
bool prompt_tty_exists(void);

/** prompt_tty_draws() - our command may write to our terminal; @out is to be closed when it has ended. */
void prompt_tty_draws(struct ttyturn *out);

/** prompt_tty_possible() - whether we have a controlling terminal and are in its foreground. */
bool prompt_tty_possible(void);

/**
 * prompt_tty_new() - an asker at /dev/tty
 * @terminal: who else uses it; copied
 *
 * Return: 0, or -1 with @err.
 */
int prompt_tty_new(struct asker *out, struct asking *asking, struct event_base *base,
		   const struct asker_terminal *terminal, struct error *err);

#endif
