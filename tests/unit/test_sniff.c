/* S-010: the first byte names the protocol; what is none is closed without a word. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "proxy/sniff.h"

static void test_sniff_first_byte_knows_its_protocols(void **state)
{
	(void)state;
	assert_int_equal(sniff_first_byte(0x05), SNIFF_SOCKS5);
	assert_int_equal(sniff_first_byte(0x04), SNIFF_SOCKS4);
	assert_int_equal(sniff_first_byte('C'), SNIFF_HTTP);
	assert_int_equal(sniff_first_byte('G'), SNIFF_HTTP);
	assert_int_equal(sniff_first_byte('c'), SNIFF_HTTP); /* gets its 400 */
	assert_int_equal(sniff_first_byte('\r'), SNIFF_HTTP);
}

static void test_sniff_first_byte_refuses_the_rest(void **state)
{
	unsigned http = 0, socks = 0;

	(void)state;
	for (unsigned c = 0; c < 256; c++) {
		enum sniff s = sniff_first_byte((uint8_t)c);

		http += s == SNIFF_HTTP;
		socks += s == SNIFF_SOCKS5 || s == SNIFF_SOCKS4;
	}
	assert_int_equal(http, 26 + 26 + 1);
	assert_int_equal(socks, 2);
	assert_int_equal(sniff_first_byte(0x00), SNIFF_BAD);
	assert_int_equal(sniff_first_byte(0x06), SNIFF_BAD);
	assert_int_equal(sniff_first_byte(0x16), SNIFF_BAD); /* TLS */
	assert_int_equal(sniff_first_byte(0x80), SNIFF_BAD);
	assert_int_equal(sniff_first_byte('\n'), SNIFF_BAD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sniff_first_byte_knows_its_protocols),
		cmocka_unit_test(test_sniff_first_byte_refuses_the_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
