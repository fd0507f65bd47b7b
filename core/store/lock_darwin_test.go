package store

const getLock = 92 // F_OFD_GETLK of sys/fcntl.h
