/*
 * recordtype.h - the DNS record types that may be asked for outside (network.forwardRecordTypes)
 *
 * None of them holds an address or a hint of one: a program that must go through the proxy learns
 * nothing from them that it could dial. Names in them (MX, SRV) are judged when they are looked up.
 */
#ifndef POLICY_RECORDTYPE_H
#define POLICY_RECORDTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/** enum recordtype - with their numbers in DNS */
enum recordtype {
	RECORDTYPE_MX = 15,
	RECORDTYPE_TXT = 16,
	RECORDTYPE_SRV = 33,
	RECORDTYPE_SSHFP = 44,
	RECORDTYPE_TLSA = 52,
	RECORDTYPE_CAA = 257,
};

#define RECORDTYPE_COUNT 6

/** struct recordtypes - some of them; at first none, as { 0 } */
struct recordtypes {
	size_t n;
	enum recordtype v[RECORDTYPE_COUNT];
};

/**
 * recordtypes_add() - the type of that name, in capitals
 *
 * Return: 0 (also if it is there already), or -1 with @err, which says why not.
 */
int recordtypes_add(struct recordtypes *t, const char *word, struct error *err);

/** recordtypes_have() - whether the type with that number is among them. */
bool recordtypes_have(const struct recordtypes *t, uint16_t type);

#endif
