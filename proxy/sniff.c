#include "proxy/sniff.h"

enum sniff sniff_first_byte(uint8_t byte)
{
	if (byte == 0x05)
		return SNIFF_SOCKS5;
	if (byte == 0x04)
		return SNIFF_SOCKS4;
	if (byte == '\r' || (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z'))
		return SNIFF_HTTP;
	return SNIFF_BAD;
}
