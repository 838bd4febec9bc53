/*
 * attach_message.h - what a bridge and a server say to each other on control.sock
 *
 * One JSON object a line each way. `attach` is answered with what the session needs inside; then
 * the listeners follow (netns/bridge.h), and a second answer says that they are served. The session
 * ends with the connection. docs/control.md describes the lines.
 */
#ifndef CLI_SERVE_ATTACH_MESSAGE_H
#define CLI_SERVE_ATTACH_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "cli/forwards.h"
#include "netns/netns.h"

#define ATTACH_LINE_MAX	   (64 * 1024) /* bytes of a line, its newline included */
#define ATTACH_ENTRIES_MAX 1024	       /* of one list of a request */
#define ATTACH_PORTS_MAX   256
#define ATTACH_TEXT_MAX	   2048	   /* of a refusal's sentence */
#define ATTACH_BYE	   "bye\n" /* of a bridge whose command has ended */

/** enum attach_op - what is asked for */
enum attach_op {
	ATTACH_OP_ATTACH,
	ATTACH_OP_RELOAD,
	ATTACH_OP_STATS,
	ATTACH_OP_SESSIONS,
};

/** struct attach_list - pieces of text, NULL-terminated and owned; NULL when @n is 0 */
struct attach_list {
	char **v;
	size_t n;
};

/**
 * struct attach_request - one line to the server
 * @only: bounds of the session: of what the server allows, nothing but these
 * @deny: refused besides
 * @forward: LPORT=HOST:PORT
 * @capture: whether the namespace can capture connections
 * @command: what runs there, for a person to read; owned, NULL for nothing. Nobody has looked
 */
struct attach_request {
	enum attach_op op;
	struct attach_list only, deny, forward;
	bool capture;
	char *command;
};

/**
 * struct attach_reply - one line back
 * @ok: false with @error
 * @session: number
 * @netns: attach_netns() of the server: a bridge in the same namespace is none
 * @capture, @ports, @forwards: what to set up
 */
struct attach_reply {
	bool ok;
	char error[ERROR_MSG_MAX];
	unsigned session;
	uint64_t netns;
	bool capture;
	uint16_t ports[ATTACH_PORTS_MAX];
	size_t nports;
	uint16_t forwards[FORWARDS_MAX];
	size_t nforwards;
};

/** attach_list_add() - append a copy. */
void attach_list_add(struct attach_list *l, const char *text);

/** attach_request_clear() - release what it owns. */
void attach_request_clear(struct attach_request *r);

/** attach_request_format() - as a line, to be freed by the caller. */
char *attach_request_format(const struct attach_request *r);

/** attach_request_parse() - strict: an unknown member is an error. 0, or -1 with @err. */
int attach_request_parse(const char *line, size_t n, struct attach_request *out, struct error *err);

/** attach_reply_format() - as a line, to be freed by the caller. */
char *attach_reply_format(const struct attach_reply *r);

/** attach_reply_parse() - 0, or -1 with @err; a refusal of the server is one, too. */
int attach_reply_parse(const char *line, size_t n, struct attach_reply *out, struct error *err);

/** attach_refused_parse() - the sentence of a line that tells of a refusal; false: another line. */
bool attach_refused_parse(const char *line, size_t n, char out[ATTACH_TEXT_MAX]);

/** attach_netns() - fd_netns() of this process's namespace. */
uint64_t attach_netns(void);

#endif
