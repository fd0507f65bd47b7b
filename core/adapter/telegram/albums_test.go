package telegram

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gatewaytui/core/adapter/telegram/botapitest"
)

// picture is a message with a picture.
func (w *world) picture(content string) fields { return fields{"photo": w.api.Photo(content)} }

// got is each message that the gateway got: its text and how many files.
func (w *world) got() (out []string) {
	for _, m := range w.in.Messages() {
		out = append(out, fmt.Sprintf("%s/%d", m.Text, len(m.Files)))
	}
	return out
}

func (w *world) wantGot(want ...string) {
	w.Helper()
	if got := w.got(); !slices.Equal(got, want) {
		w.Errorf("the gateway got %q, want %q", got, want)
	}
}

func TestAnAlbumIsOneMessageWithAllItsFiles(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			captioned := w.picture("two")
			captioned["caption"] = "look"
			w.api.Album(botapitest.Update{User: owner}, w.picture("one"), captioned, fields{"video": w.api.Document("", "video/mp4", "three")})
			w.after(albumLook + albumWait)
			w.wantGot("look/3")
			w.wantUnconfirmed(0)
			m := w.in.Messages()[0]
			for i, want := range []string{"one", "two", "three"} {
				if got, err := c.Fetch(w.Context(), m.Files[i].Ref, 10); err != nil || string(got) != want {
					w.Errorf("file %d is %q: %v", i, got, err)
				}
			}
			if m.ID == "" || !strings.HasSuffix(m.Dedupe, ":"+m.ID+"+2") {
				w.Errorf("its name is %q, its message %q", m.Dedupe, m.ID)
			}
		})
	})
}

func TestPartsOfAnAlbumThatComeLateBelongToItWithinASecond(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			part := func(text string) {
				m := w.picture(text)
				m["media_group_id"], m["caption"] = "9", text
				w.api.Inject(botapitest.Update{User: owner, Message: m})
			}
			w.after(time.Second)
			began := time.Now()
			part("a")
			w.after(albumLook / 2)
			part("b")
			w.api.Inject(botapitest.Update{User: other, Chat: -100, Text: "not for us"})
			w.after(albumLook)
			part("c")
			w.wantGot()
			if n := w.api.Unconfirmed(); n < 3 {
				w.Errorf("%d updates are unconfirmed before the album was handed on", n)
			}
			w.after(albumLook)
			w.wantGot("a\nb\nc/3")
			if took := time.Since(began); took > albumWait+albumLook {
				w.Errorf("it took %s", took)
			}
			part("d") // too late
			w.after(albumWait)
			w.wantGot("a\nb\nc/3", "d/1")
			w.wantUnconfirmed(0)
		})
	})
}

func TestWhatASenderWritesBehindAnAlbumEndsIt(t *testing.T) {
	simulate(t, func(w *world) {
		w.api.Album(botapitest.Update{User: owner}, w.picture("one"), w.picture("two"))
		w.say("and now?")
		w.up(func(c *conn) {
			w.after(time.Millisecond)
			w.wantGot("/2", "and now?/0")
		})
	})
}

func TestAnAlbumHoldsUpNoOtherChat(t *testing.T) {
	simulate(t, func(w *world) {
		w.in.Only(nil)
		w.api.Album(botapitest.Update{User: owner}, w.picture("one"))
		w.api.Inject(botapitest.Update{User: other, Text: "hello"})
		w.up(func(c *conn) {
			w.after(time.Millisecond)
			w.wantGot("hello/0")
			w.wantUnconfirmed(2)
			w.after(albumLook)
			w.wantGot("hello/0", "/1")
			w.wantUnconfirmed(0)
		})
	})
}

func TestE12_AnAlbumThatWaitsWhenTheConnectionEndsComesAgain(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			w.api.Album(botapitest.Update{User: owner}, w.picture("one"), w.picture("two"))
			w.after(time.Millisecond)
			w.wantGot()
		})
		w.wantUnconfirmed(2)
		w.up(func(c *conn) {
			w.after(albumWait)
			w.wantGot("/2")
		})
		w.wantUnconfirmed(0)
	})
}

func TestAForwardedAlbumSaysOnceWhoseItIs(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(c *conn) {
			one, two := w.picture("one"), w.picture("two")
			for _, m := range []fields{one, two} {
				m["forward_origin"] = fields{"type": "hidden_user", "sender_user_name": "Bob"}
			}
			w.api.Album(botapitest.Update{User: owner}, one, two)
			w.after(albumWait)
			w.wantGot("[Forwarded from Bob]/2")
		})
	})
}

// However the parts of albums, other messages and breaks of the connection fall, every message arrives once, and
// nothing is confirmed before it was handed on.
func TestNothingOfAnAlbumIsLostOrDoubled(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		steps := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "a", "b", "text", "other", "pause", "break", "fail"}), 1, 25).Draw(r, "steps")
		simulate(t, func(w *world) {
			w.in.Only(nil)
			c := w.dialUp()
			var want []string
			for i, step := range steps {
				name := fmt.Sprintf("%s%d", step, i)
				u := botapitest.Update{User: owner, Text: name}
				switch step {
				case "a", "b":
					u.Text, u.Message = "", w.picture(name)
					u.Message["caption"], u.Message["media_group_id"] = name, step
				case "other":
					u.User = other
				case "pause":
					w.after(300 * time.Millisecond)
					continue
				case "break":
					w.api.Heal()
					w.down(c)
					c = w.dialUp()
					continue
				case "fail":
					w.api.Fail("getUpdates", botapitest.Fault{Code: 500, Times: 1})
					continue
				}
				w.api.Inject(u)
				want = append(want, name)
			}
			w.after(time.Minute)
			w.down(c)
			var got []string
			files := 0
			for _, m := range w.in.Messages() {
				got = append(got, strings.Fields(m.Text)...)
				files += len(m.Files)
			}
			sent := 0
			for _, name := range want {
				if !slices.Contains(got, name) {
					r.Errorf("%s was lost of %v: got %v", name, steps, got)
				}
				if name[0] == 'a' || name[0] == 'b' {
					sent++
				}
			}
			if len(got) != len(want) || files != sent {
				r.Errorf("got %v with %d files, want %v with %d", got, files, want, sent)
			}
			w.wantUnconfirmed(0)
		})
	})
}
