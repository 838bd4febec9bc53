/*
 * question.h - a question as it is shown and as it travels: one JSON object on a line
 *
 * Also what comes back: the requests of a control client and the answer of an asking program.
 * docs/control.md describes the lines.
 */
#ifndef POLICY_QUESTION_H
#define POLICY_QUESTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/grant.h"
#include "policy/prompt.h"
#include "policy/target.h"

#define QUESTION_TEXT_MAX 512
#define QUESTION_LINE_MAX 16384
#define QUESTION_BY_MAX	  32

/**
 * struct question - what a person is told; every text is printable ASCII
 * @id: number in its run
 * @target: "host:port"
 * @via: the way in
 * @wide: what "wider" would mean, "" if it cannot be widened
 * @mark: a warning about the name, "" for none
 * @program: "npm > node", "" if unknown
 * @argv: its command line
 * @pid: as seen outside, 0 if unknown
 * @command: the command of the run
 * @project: the directory that "project" means
 * @waiting: connections
 * @deadline: milliseconds, monotonic: when the answer will be no
 */
struct question {
	uint64_t id;
	char target[TARGET_TEXT_MAX];
	char via[16];
	char wide[GRANT_PATTERN_MAX];
	char mark[QUESTION_TEXT_MAX];
	char program[QUESTION_TEXT_MAX];
	char argv[QUESTION_TEXT_MAX];
	uint64_t pid;
	char command[QUESTION_TEXT_MAX];
	char project[QUESTION_TEXT_MAX];
	uint64_t waiting;
	uint64_t deadline;
};

/** question_format() - as a line {"event":"question",...}. Return: its length. */
size_t question_format(const struct question *q, uint64_t now, char out[QUESTION_LINE_MAX]);

/** question_seconds() - how many are left, rounded up. */
unsigned question_seconds(const struct question *q, uint64_t now);

/** enum question_op - what a control client asks for */
enum question_op {
	QUESTION_BAD, /* no request */
	QUESTION_SUBSCRIBE,
	QUESTION_LIST,
	QUESTION_ANSWER,
	QUESTION_EXPLAIN,
	QUESTION_STATS,
};

/**
 * struct question_request - one line of a client
 * @id: of QUESTION_ANSWER; 0 if there is none
 * @valid: the answer is one; otherwise the question that it names is answered no
 * @answer: its @by is NULL
 * @by: what the client calls itself, "" if it does not
 * @target: of QUESTION_EXPLAIN, "host:port"
 */
struct question_request {
	enum question_op op;
	uint64_t id;
	bool valid;
	struct prompt_answer answer;
	char by[QUESTION_BY_MAX];
	char target[TARGET_TEXT_MAX];
};

/** question_parse_request() - @out->op is QUESTION_BAD for anything else. */
void question_parse_request(const char *line, size_t len, struct question_request *out);

/**
 * question_parse_words() - the answer of a program
 *
 * "allow", "deny" ("yes", "no"), then "once", "run", "project", "forever" or a duration, then
 * "wide"; or a JSON object as a control client sends it. Return: false for anything else, an object
 * that names another question than @id, which was asked, included.
 */
bool question_parse_words(const char *text, size_t len, uint64_t id, struct prompt_answer *out);

/** enum question_event - what a server says */
enum question_event {
	QUESTION_EV_OTHER,
	QUESTION_EV_HELLO,
	QUESTION_EV_OPEN,
	QUESTION_EV_CHANGED,
	QUESTION_EV_CLOSED,
	QUESTION_EV_REPLY,
};

/**
 * question_parse_event() - the client's side
 * @now: for the deadline
 * @q: filled for OPEN; for CHANGED and CLOSED its id and waiting; for HELLO command and project
 * @text: QUESTION_TEXT_MAX bytes: how it ended, or the error of a reply; escaped
 */
enum question_event question_parse_event(const char *line, size_t len, uint64_t now,
					 struct question *q, char *text);

#endif
