package host

import "testing"

func TestMemoryBound(t *testing.T) {
	for _, tt := range []struct {
		name  string
		group uint64
		own   string
		want  int64
	}{
		{"a group with a limit", 120 << 20, "", 120 << 20 / 10 * 9},
		{"a limit that the person set", 120 << 20, "1GiB", 0},
		{"no limit", 0, "", 0},
		{"a number that is too large", 1 << 63, "", 0},
	} {
		if got := memoryBound(tt.group, tt.own); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}
