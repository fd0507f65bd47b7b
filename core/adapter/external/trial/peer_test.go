package trial

import (
	"bufio"
	"context"
	"os"
	"testing"
)

func TestPL4_APeerThatFloodsWithoutAnAnswerEndsWithItsRow(t *testing.T) {
	out, flood, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	unread, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	flooded := make(chan struct{})
	go func() {
		defer close(flooded)
		for n := 0; ; n++ {
			if n == 10_000 { // more than the pipe and the reader hold: the lines before are being read
				cancel()
			}
			if _, err := flood.WriteString("{\"id\":-1}\n"); err != nil {
				return
			}
		}
	}()
	p := &peer{stage: &stage{ctx: ctx}, in: in, out: out, lines: bufio.NewReader(out)}
	if _, err := p.ask("texts", nil); err == nil || ctx.Err() == nil {
		t.Errorf("the peer was asked until the end of the row, with the error %v", err)
	}
	_ = out.Close() // ends the flood
	<-flooded
	_, _, _ = flood.Close(), in.Close(), unread.Close()
}
