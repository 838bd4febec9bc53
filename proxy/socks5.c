#include "proxy/socks5.h"

#include <assert.h>
#include <string.h>
#include <sys/socket.h>

#define VERSION	     0x05
#define METHOD_NONE  0x00
#define METHOD_NO_OK 0xff
#define CMD_CONNECT  0x01
#define ATYP_IPV4    0x01
#define ATYP_NAME    0x03
#define ATYP_IPV6    0x04

/* Counts of one byte bound both messages; no check could be missing. */
static_assert(SOCKS5_GREETING_MAX == 2 + UINT8_MAX, "version, count, methods");
static_assert(SOCKS5_REQUEST_MAX == 4 + 1 + UINT8_MAX + 2, "head, length, name, port");

enum parse socks5_parse_greeting(struct reader *r, bool *acceptable)
{
	struct reader in = *r;
	const uint8_t *methods;
	uint8_t version, count;

	if (!reader_u8(&in, &version))
		return PARSE_MORE;
	if (version != VERSION)
		return PARSE_BAD;
	if (!reader_u8(&in, &count) || !reader_take(&in, count, &methods))
		return PARSE_MORE;
	*acceptable = count && memchr(methods, METHOD_NONE, count);
	*r = in;
	return PARSE_OK;
}

void socks5_format_method(bool acceptable, uint8_t out[SOCKS5_METHOD_SIZE])
{
	out[0] = VERSION;
	out[1] = acceptable ? METHOD_NONE : METHOD_NO_OK;
}

static enum parse bad(struct socks5_error *err, enum socks5_rep rep, enum code code,
		      const char *text)
{
	*err = (struct socks5_error){ .rep = rep, .code = code, .text = text };
	return PARSE_BAD;
}

/* Version, command, reserved byte: each judged as soon as it is there. */
static enum parse parse_command(struct reader *in, uint8_t *atyp, struct socks5_error *err)
{
	uint8_t version, cmd, reserved;

	if (!reader_u8(in, &version))
		return PARSE_MORE;
	if (version != VERSION)
		return bad(err, SOCKS5_FAILURE, CODE_OK, "SOCKS5 request of another version");
	if (!reader_u8(in, &cmd))
		return PARSE_MORE;
	if (cmd != CMD_CONNECT)
		return bad(err, SOCKS5_BAD_COMMAND, CODE_OK, "SOCKS5 command is not CONNECT");
	if (!reader_u8(in, &reserved))
		return PARSE_MORE;
	if (reserved)
		return bad(err, SOCKS5_FAILURE, CODE_OK, "SOCKS5 reserved byte is not zero");
	if (!reader_u8(in, atyp))
		return PARSE_MORE;
	return PARSE_OK;
}

static enum parse parse_port(struct reader *in, uint16_t *port, struct socks5_error *err)
{
	if (!reader_u16be(in, port))
		return PARSE_MORE;
	if (!*port)
		return bad(err, SOCKS5_FAILURE, CODE_BAD_PORT, "SOCKS5 port is zero");
	return PARSE_OK;
}

static enum parse parse_addr(struct reader *in, sa_family_t family, size_t len, struct target *out,
			     struct socks5_error *err)
{
	struct addr addr = { .family = family };
	const uint8_t *bytes;
	enum parse result;
	uint16_t port;

	if (!reader_take(in, len, &bytes))
		return PARSE_MORE;
	memcpy(addr.bytes, bytes, len);
	result = parse_port(in, &port, err);
	if (result == PARSE_OK)
		target_from_addr(&addr, port, out);
	else if (result == PARSE_BAD)
		said_addr(err->said, &addr, 0);
	return result;
}

static enum parse parse_name(struct reader *in, struct target *out, struct socks5_error *err)
{
	const uint8_t *name;
	enum parse result;
	uint16_t port = 0;
	uint8_t len;

	if (!reader_u8(in, &len))
		return PARSE_MORE;
	if (!len)
		return bad(err, SOCKS5_FAILURE, CODE_BAD_HOST, "SOCKS5 name is empty");
	if (!reader_take(in, len, &name))
		return PARSE_MORE;
	result = parse_port(in, &port, err);
	if (result == PARSE_OK && target_from_host(name, len, port, out) != TARGET_OK)
		result = bad(err, SOCKS5_FAILURE, CODE_BAD_HOST, "SOCKS5 name is no host name");
	if (result == PARSE_BAD)
		said_host(err->said, name, len, port);
	return result;
}

enum parse socks5_parse_request(struct reader *r, struct target *out, struct socks5_error *err)
{
	struct reader in = *r;
	struct target target;
	enum parse result;
	uint8_t atyp;

	result = parse_command(&in, &atyp, err);
	if (result != PARSE_OK)
		return result;
	if (atyp == ATYP_IPV4)
		result = parse_addr(&in, AF_INET, 4, &target, err);
	else if (atyp == ATYP_IPV6)
		result = parse_addr(&in, AF_INET6, 16, &target, err);
	else if (atyp == ATYP_NAME)
		result = parse_name(&in, &target, err);
	else
		return bad(err, SOCKS5_BAD_ADDRESS, CODE_OK, "SOCKS5 address type is unknown");
	if (result != PARSE_OK)
		return result;
	target.via = VIA_SOCKS5;
	*out = target;
	*r = in;
	return PARSE_OK;
}

void socks5_format_reply(enum socks5_rep rep, uint8_t out[SOCKS5_REPLY_SIZE])
{
	memset(out, 0, SOCKS5_REPLY_SIZE);
	out[0] = VERSION;
	out[1] = (uint8_t)rep;
	out[3] = ATYP_IPV4;
}
