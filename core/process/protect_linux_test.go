package process

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// playProtected says whether it can be dumped, and which descriptors above the standard streams reach what it starts; one
// that it was started with is 3. TestMain has protected it already, by close_range(2).
func playProtected() error {
	if os.Getenv("PROCESS_TEST_ONE_BY_ONE") != "" {
		if _, err := unix.FcntlInt(3, unix.F_SETFD, 0); err != nil {
			return err
		}
		if err := closeEachOnExec("/proc/self/fd", 3); err != nil {
			return err
		}
	}
	dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	if err != nil {
		return err
	}
	if _, err := unix.FcntlInt(3, unix.F_GETFD, 0); err != nil {
		return fmt.Errorf("its own descriptor 3: %w", err)
	}
	out, err := exec.Command("bash", "-c", "for fd in /proc/$$/fd/*; do echo ${fd##*/}=$(readlink $fd); done").Output()
	fmt.Printf("dumpable %d\n%s", dumpable, out)
	return err
}

// HF2, HF32: other processes of the user cannot read the program, and what it was started with stays with it.
func TestHF32_AChildInheritsNoDescriptor(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	kept, err := os.CreateTemp(t.TempDir(), "inherited")
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	for name, env := range map[string]string{"with close_range": "", "one by one": "PROCESS_TEST_ONE_BY_ONE=1"} {
		t.Run(name, func(t *testing.T) {
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(self)
			cmd.Env = append(os.Environ(), playAs+"=a protected program", env)
			cmd.ExtraFiles, cmd.Stderr = []*os.File{kept, null}, os.Stderr
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(string(out), "dumpable 0\n") {
				t.Errorf("it can be dumped: %q", out)
			}
			if strings.Contains(string(out), kept.Name()) || !strings.Contains(string(out), "\n0=") {
				t.Errorf("what it starts has the descriptors\n%s", out)
			}
		})
	}
}
