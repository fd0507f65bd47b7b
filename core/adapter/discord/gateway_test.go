package discord

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestAHeartbeatSaysWhatCameLast(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			w.after(0)
			w.api.Frame(`{"op":1,"d":null}`) // Discord asks for one at once
			w.after(0)
			if got := w.api.Beats(); !slices.Equal(got, []string{"1"}) {
				w.Errorf("the heartbeats were %q, want that of READY", got)
			}
			w.say("one")
			w.say("two")
			w.after(10 * time.Minute)
			beats := w.api.Beats()[1:]
			if n := len(beats); n < 14 || n > 15 { // each 41.25 s, the first within that
				w.Errorf("%d heartbeats came in ten minutes", n)
			}
			if last := beats[len(beats)-1]; last != "3" {
				w.Errorf("the last heartbeat says %s, want 3", last)
			}
		})
	})
}

func TestE1_AHeartbeatWithoutAnAnswerEndsTheConnectionBeforeTheNext(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			w.after(10 * time.Minute)
			w.api.Deafen(true)
			w.after(2*41250*time.Millisecond + time.Second)
			if err := c.Err(); err == nil || !strings.Contains(err.Error(), "a heartbeat was not answered") {
				w.Errorf("the connection ended with %v", err)
			}
			if n := w.api.Connections(); n != 0 {
				w.Errorf("%d sockets are open", n)
			}
		})
	})
}

// Discord says of a session that it is over, or that the bot may go on with it.
func TestASessionThatIsInvalidForAMomentGoesOn(t *testing.T) {
	for _, tc := range []struct {
		name      string
		resumable bool
		want      []string
	}{
		{"resumable", true, []string{"one", "in the gap", "two"}},
		{"over", false, []string{"one", "two"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			simulate(t, func(w *world) {
				c := w.dialUp()
				w.say("one")
				w.after(time.Second)
				w.api.Invalidate(tc.resumable)
				<-c.Done()
				w.say("in the gap")
				w.down(c)
				w.up(func(c *conn) {
					w.say("two")
					w.after(time.Second)
				})
				w.wantTexts(tc.want...)
			})
		})
	}
}

func TestAGatewayThatBreaksTheProtocolEndsTheConnection(t *testing.T) {
	for frame, want := range map[string]string{
		`{"op":10,"d":{"heartbeat_interval":41250}}`:                   "hello twice",
		`{"op":10,"d":{"heartbeat_interval":0}}`:                       "no time between two heartbeats",
		`{"op":10,"d":{"heartbeat_interval":-5}}`:                      "no time between two heartbeats",
		`{"op":10,"d":{"heartbeat_interval":9223372036854775807}}`:     "no time between two heartbeats",
		`{"op":10,"d":"soon"}`:                                         "read a frame of type 10",
		`{"op":0,"t":"READY","s":9,"d":{"session_id":"x","user":{}}}`:  "a second one",
		`{"op":0,"t":"READY","s":9,"d":[]}`:                            "read a frame of type 0",
		`{`:                                                            "read a frame",
		`{"op":0,"t":"X","d":"` + strings.Repeat("x", maxFrame) + `"}`: "the connection broke off",
	} {
		t.Run(want, func(t *testing.T) {
			simulate(t, func(w *world) {
				w.up(func(c *conn) {
					w.api.Frame(frame)
					w.after(time.Second)
					if err := c.Err(); err == nil || !strings.Contains(err.Error(), want) {
						w.Errorf("after %.80s the connection ended with %v", frame, err)
					}
				})
			})
		})
	}
}
