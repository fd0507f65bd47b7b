package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// HF14: doctor fails a home for files that must be the gateway's own, and warns of any other file of another user.
func TestHF14_DoctorWarnsOfAStrayFile(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("runs as root: only root can make a file of another user")
	}
	for name, want := range map[string]Verdict{"README": Warn, "gateway.db": Fail} {
		home := t.TempDir()
		path := filepath.Join(home, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(path, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		c := &checkup{}
		c.checkModes(home)
		if len(c.findings) != 1 || c.findings[0].Verdict != want || !strings.Contains(c.findings[0].Detail, name+" belong") {
			t.Errorf("%s: %+v, want %v", name, c.findings, want)
		}
	}
}
