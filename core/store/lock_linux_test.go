package store

import "golang.org/x/sys/unix"

const getLock = unix.F_OFD_GETLK
