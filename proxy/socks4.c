#include "proxy/socks4.h"

#include <string.h>
#include <sys/socket.h>

#define VERSION	    0x04
#define CMD_CONNECT 0x01
#define GRANTED	    0x5a
#define REJECTED    0x5b

static enum parse bad(struct socks4_error *err, enum code code, const char *text)
{
	*err = (struct socks4_error){ .code = code, .text = text };
	return PARSE_BAD;
}

static enum parse bad_port(struct socks4_error *err)
{
	return bad(err, CODE_BAD_PORT, "SOCKS4 port is zero");
}

static enum parse parse_command(struct reader *in, uint16_t *port, struct socks4_error *err)
{
	uint8_t version, cmd;

	if (!reader_u8(in, &version))
		return PARSE_MORE;
	if (version != VERSION)
		return bad(err, CODE_OK, "SOCKS4 request of another version");
	if (!reader_u8(in, &cmd))
		return PARSE_MORE;
	if (cmd != CMD_CONNECT)
		return bad(err, CODE_OK, "SOCKS4 command is not CONNECT");
	if (!reader_u16be(in, port))
		return PARSE_MORE;
	return PARSE_OK;
}

/* A zero-terminated string of at most @max bytes. */
static enum parse parse_string(struct reader *in, size_t max, const uint8_t **out, size_t *len,
			       struct socks4_error *err)
{
	struct reader head = { .p = in->p, .n = in->n < max + 1 ? in->n : max + 1 };

	if (!reader_until(&head, 0, out, len)) {
		if (in->n > max)
			return bad(err, CODE_OK, "SOCKS4 string has no end");
		return PARSE_MORE;
	}
	(void)reader_take(in, *len + 1, out);
	return PARSE_OK;
}

static enum parse parse_name(struct reader *in, uint16_t port, struct target *out,
			     struct socks4_error *err)
{
	const uint8_t *name;
	enum parse result;
	size_t len;

	result = parse_string(in, SOCKS4_HOST_MAX, &name, &len, err);
	if (result != PARSE_OK)
		return result;
	if (port && target_from_host(name, len, port, out) == TARGET_OK)
		return PARSE_OK;
	result = port ? bad(err, CODE_BAD_HOST, "SOCKS4a name is no host name") : bad_port(err);
	said_host(err->said, name, len, port);
	return result;
}

enum parse socks4_parse_request(struct reader *r, struct target *out, struct socks4_error *err)
{
	struct addr addr = { .family = AF_INET };
	const uint8_t *bytes, *userid;
	struct reader in = *r;
	struct target target;
	enum parse result;
	uint16_t port;
	size_t len;

	result = parse_command(&in, &port, err);
	if (result != PARSE_OK)
		return result;
	if (!reader_take(&in, 4, &bytes))
		return PARSE_MORE;
	memcpy(addr.bytes, bytes, 4);
	result = parse_string(&in, SOCKS4_USERID_MAX, &userid, &len, err);
	if (result != PARSE_OK)
		return result;
	if (!bytes[0] && !bytes[1] && !bytes[2] && bytes[3])
		result = parse_name(&in, port, &target, err);
	else if (port)
		target_from_addr(&addr, port, &target);
	else
		result = bad_port(err), said_addr(err->said, &addr, port);
	if (result != PARSE_OK)
		return result;
	target.via = VIA_SOCKS4A;
	*out = target;
	*r = in;
	return PARSE_OK;
}

void socks4_format_reply(bool granted, uint8_t out[SOCKS4_REPLY_SIZE])
{
	memset(out, 0, SOCKS4_REPLY_SIZE);
	out[1] = granted ? GRANTED : REJECTED;
}
