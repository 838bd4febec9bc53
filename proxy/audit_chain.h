/*
 * audit_chain.h - a hash chain through the lines of an audit log (--audit-chain)
 *
 * The last member of each line is "chain": the SHA-256, in hex, of the chain member of the line
 * before (64 zeros before the first) followed by the line itself without its own member. A line that
 * was changed, taken out or put in between breaks every check from there on. The end of the log can
 * still be cut off: keep its last hash elsewhere.
 */
#ifndef PROXY_AUDIT_CHAIN_H
#define PROXY_AUDIT_CHAIN_H

#include <stdbool.h>
#include <stddef.h>

#define AUDIT_CHAIN_HEX	   64
#define AUDIT_CHAIN_MEMBER (sizeof(",\"chain\":\"\"") - 1 + AUDIT_CHAIN_HEX)

/** struct audit_chain - @last: the member of the line before, as text */
struct audit_chain {
	char last[AUDIT_CHAIN_HEX + 1];
};

/** audit_chain_init() - before the first line. */
void audit_chain_init(struct audit_chain *c);

/**
 * audit_chain_seal() - put the member into a line
 * @line, @n: a JSON object and its newline; room for AUDIT_CHAIN_MEMBER more bytes behind it
 *
 * Return: the new length.
 */
size_t audit_chain_seal(struct audit_chain *c, char *line, size_t n);

/** audit_chain_resume() - go on behind a line of a log. Return: false if it has no member. */
bool audit_chain_resume(struct audit_chain *c, const char *line, size_t n);

/**
 * audit_chain_check() - whether a line (without its newline) follows what came before
 *
 * The chain moves on only if it does.
 */
bool audit_chain_check(struct audit_chain *c, const char *line, size_t n);

#endif
