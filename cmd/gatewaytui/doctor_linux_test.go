package main

import (
	"errors"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"gatewaytui/core/doctor"
	"gatewaytui/core/process/kernel"
	"gatewaytui/core/service"
)

// The store is SQLite's and the gateway's: any other process that opens its files may cost it its locks (F1).
func TestDoctorOpensNoFileOfTheStore(t *testing.T) {
	a := newAccount(t)
	watch, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(watch)
	for _, suffix := range []string{"", "-wal", "-shm"} {
		path := filepath.Join(a.home, "gateway.db"+suffix)
		write(t, path, "x")
		if _, err := unix.InotifyAddWatch(watch, path, unix.IN_OPEN|unix.IN_ACCESS); err != nil {
			t.Fatal(err)
		}
	}
	a.doctor(t).has(t, "store", doctor.OK, "1 B")
	b := make([]byte, 4096)
	if n, err := unix.Read(watch, b); !errors.Is(err, unix.EAGAIN) {
		t.Errorf("a file of the store was opened: %d bytes of events, %v", n, err)
	}
	read(t, filepath.Join(a.home, "gateway.db")) // and the watch would have seen it
	if n, err := unix.Read(watch, b); n <= 0 || err != nil {
		t.Errorf("the watch sees nothing: %v", err)
	}
}

// Newer versions of systemd start the gateway in the very group that it would make for itself.
func TestTheUnitNamesTheGroupThatTheGatewayWouldMake(t *testing.T) {
	if service.Subgroup != kernel.LeafGroup {
		t.Errorf("%q is not %q", service.Subgroup, kernel.LeafGroup)
	}
}
