package guardian

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"gatewaytui/core/process/kernel"
)

// What the gateway says is understood however it is cut, and bounded.
func TestReported_IsReadInPiecesAndBounded(t *testing.T) {
	var b []byte
	b = AppendIdentity(b, Add, 7, 1<<40)
	b = AppendIdentity(b, Add, 1<<22, 5)
	b = append(b, '?')                // from a later edition
	b = AppendIdentity(b, Drop, 7, 3) // who had the pid before
	b = AppendIdentity(b, Add, 'b', 'b')
	b = AppendIdentity(b, Drop, 1<<22, 5)
	for size := 1; size <= len(b); size++ {
		var got reported
		for rest := b; len(rest) > 0; rest = rest[min(size, len(rest)):] {
			if got.read(rest[:min(size, len(rest))]) {
				t.Fatalf("in pieces of %d it is a release", size)
			}
		}
		if !got.has(7, 1<<40) || got.has(7, 3) || got.has(1<<22, 5) || !got.has('b', 'b') || len(got.start) != 2 {
			t.Fatalf("in pieces of %d: %v", size, got.start)
		}
		if !got.read([]byte{Release}) {
			t.Fatalf("in pieces of %d a release is not recognised", size)
		}
	}
	var got reported
	for pid := range 2 * reportedMost {
		got.read(AppendIdentity(nil, Add, pid+1, 1))
	}
	if len(got.start) != reportedMost || !got.has(1, 1) || got.has(reportedMost+1, 1) {
		t.Errorf("it keeps %d identities, want the first %d", len(got.start), reportedMost)
	}
}

func FuzzReported(f *testing.F) {
	f.Add(AppendIdentity(AppendIdentity(nil, Add, 7, 9), Drop, 7, 9))
	f.Add([]byte{Add, Release, Drop})
	f.Fuzz(func(t *testing.T, b []byte) {
		var whole, pieces reported
		bye := whole.read(b)
		byePieces := false
		for i := range b {
			byePieces = pieces.read(b[i:i+1]) || byePieces
		}
		if bye != byePieces || len(whole.start) != len(pieces.start) || whole.n != pieces.n {
			t.Errorf("%q is read as %v, %v and in pieces as %v, %v", b, whole.start, bye, pieces.start, byePieces)
		}
	})
}

// A process without any mark of the life is ended by its identity alone, with what it started since; one that was dropped,
// or whose pid is another's now, is not (HF6).
func TestHF6_TheGuardianEndsWhatTheGatewayReported(t *testing.T) {
	unmarked := func(script string) (pid int, start uint64, ended <-chan error) {
		cmd := exec.Command("bash", "-c", script)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- cmd.Wait() }() // ends with the process, which the cleanup sees to
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		p, err := kernel.StatOf(cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		return p.PID, p.Start, done
	}
	_, conn, ended := started(t, me(t, life(t)))
	ready(t, conn)
	pid, start, end := unmarked("exec sleep 1000")
	dropped, droppedStart, droppedEnd := unmarked("exec sleep 1000")
	other, otherStart, otherEnd := unmarked("exec sleep 1000")
	b := AppendIdentity(nil, Add, pid, start)
	b = AppendIdentity(b, Add, dropped, droppedStart)
	b = AppendIdentity(b, Add, other, otherStart-1)
	b = AppendIdentity(b, Drop, dropped, droppedStart)
	if _, err := conn.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	if err := over(t, end); err == nil || err.Error() != "signal: killed" {
		t.Errorf("the reported process ended with %v", err)
	}
	if err := over(t, ended); err != nil {
		t.Errorf("it ended with %v", err)
	}
	for what, end := range map[string]<-chan error{"what was dropped": droppedEnd, fmt.Sprintf("who has pid %d now", other): otherEnd} {
		select {
		case err := <-end:
			t.Errorf("%s was ended: %v", what, err)
		default:
		}
	}
}
