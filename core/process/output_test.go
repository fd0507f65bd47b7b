package process

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gatewaytui/core/term"
)

// Input comes in any pieces: what fits is all there; else the beginning and the end are, and what is missing is
// counted.
func TestOutput_KeepsBothEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 64).Draw(t, "limit")
		o := newOutput(limit, nil)
		var all strings.Builder
		for _, n := range rapid.SliceOfN(rapid.IntRange(1, 100), 0, 20).Draw(t, "pieces") {
			piece := make([]byte, n)
			for i := range piece {
				piece[i] = 'a' + byte((all.Len()+i)%23)
			}
			o.add(piece, time.Now())
			all.Write(piece)

			whole := all.String()
			want, over := whole, len(whole)-limit
			if over > 0 {
				end := len(whole) - (limit - limit/2)
				want = fmt.Sprintf("%s\n[%d bytes left out]\n%s", whole[:limit/2], over, whole[end:])
			}
			if text, truncated := o.text(); text != want || truncated != (over > 0) {
				t.Fatalf("of %d bytes with a limit of %d: %q, truncated: %v, want %q", len(whole), limit, text, truncated, want)
			}
			if n, _ := o.written(); n != int64(len(whole)) || len(o.head)+len(o.tail) > limit {
				t.Fatalf("%d bytes written, %d kept", n, len(o.head)+len(o.tail))
			}
		}

		// Read from anywhere in steps of any size, every byte comes once or is counted as missed.
		whole := all.String()
		at := int64(rapid.IntRange(0, len(whole)).Draw(t, "offset"))
		step := rapid.IntRange(0, 40).Draw(t, "step")
		for range 1000 {
			text, next, missed := o.since(at, step)
			if next != at+missed+int64(len(text)) || text != whole[at+missed:next] || step > 0 && len(text) > step {
				t.Fatalf("from %d on: %q, next %d, missed %d", at, text, next, missed)
			}
			if next == at {
				break
			}
			at = next
		}
		if at != int64(len(whole)) {
			t.Fatalf("the reading ended at %d of %d", at, len(whole))
		}
	})
}

func TestOutput_LastLine(t *testing.T) {
	for _, tt := range []struct {
		name  string
		limit int
		in    []string
		want  string
	}{
		{"nothing", 100, nil, ""},
		{"only blanks", 100, []string{"\n \t\r\n"}, ""},
		{"a line that is not finished", 100, []string{"one\ntw"}, "tw"},
		{"in pieces", 100, []string{"one\nt", "w", "o\n"}, "two"},
		{"across the beginning and the end", 8, []string{"abcdef"}, "abcdef"},
		{"of a progress bar", 100, []string{"10%\r20%\r30%\r"}, "30%"},
		{"a long one, its end", 4096, []string{strings.Repeat("x", 3000) + "end"}, strings.Repeat("x", 1021) + "end"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := newOutput(tt.limit, nil)
			for _, s := range tt.in {
				o.add([]byte(s), time.Now())
			}
			if got := o.lastLine(); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// HF23: no part of a secret is kept, wherever the pipe, the limit or a reader cuts the output.
func TestHF23_OutputHoldsNoPartOfASecret(t *testing.T) {
	const secret = "c4nary-0123456789-abcdef"
	written := strings.Repeat("line "+secret+"\n", 50) + "last " + secret
	for limit := 16; limit < 200; limit += 7 {
		for piece := 1; piece < 60; piece += 3 {
			o := newOutput(limit, term.NewRedactor(secret))
			for rest := written; rest != ""; {
				n := min(piece, len(rest))
				o.add([]byte(rest[:n]), time.Now())
				rest = rest[n:]
			}
			text, _ := o.text()
			all := text + "\n" + o.lastLine()
			for at := int64(0); ; {
				part, next, missed := o.since(at, 5)
				all += "\n" + part
				if next == at && missed == 0 {
					break
				}
				at = next
			}
			if strings.Contains(all, "c4n") || strings.Contains(all, "789") || strings.Contains(all, "def") {
				t.Fatalf("limit %d, pieces of %d: %q", limit, piece, all)
			}
		}
	}
	o := newOutput(100, term.NewRedactor(secret))
	o.add([]byte("yes or no? c"), time.Now())
	if text, cut := o.text(); text != "yes or no? c" || cut || o.lastLine() != "yes or no? c" {
		t.Errorf("an end that may begin a secret is shown as %q", text)
	}
}
