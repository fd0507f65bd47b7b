package session

import (
	"runtime"
	"testing"

	"gatewaytui/fixtures/soak"
)

// An idle session costs at most 256 bytes of heap, its map and its order included: at a million sessions that is a quarter
// of a GB. Before, it was about 0.6 kB.
func TestAnIdleSessionIsSmall(t *testing.T) {
	n := soak.Count(t, 20_000, 100_000)
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	tb := loadedTable(n)
	each := (heap() - before) / uint64(n)
	t.Logf("%d bytes a session", each)
	if each > 256 {
		t.Errorf("a session costs %d bytes, want at most 256", each)
	}
	runtime.KeepAlive(tb)
}
