package instance

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/ops"
)

func TestThePIDFileIsWhatScriptsExpect(t *testing.T) {
	h := open(t, t.TempDir())
	acquire(t, h)
	var got map[string]any
	if err := json.Unmarshal([]byte(read(t, h.PIDFile())), &got); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{
		"pid": float64(os.Getpid()), "start_ticks": float64(Self().StartTicks), "boot_id": Self().BootID, "life": "01LIFE",
		"version": "1.2.3", "started_at": "2026-01-02T03:04:05.000Z", "control": "/run/x.sock",
	} {
		if got[key] != want {
			t.Errorf("%s is %v, want %v", key, got[key], want)
		}
	}
}

func TestS18_AMarkerIsConsumedOnce(t *testing.T) {
	h := open(t, t.TempDir())
	if _, found, err := h.ConsumeMarker(); found || err != nil {
		t.Errorf("without a marker: %v, %v", found, err)
	}
	want := Marker{Life: "01LIFE", At: ops.At(time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC)), Reason: "SIGTERM \x1b[31m", By: "uid 0"}
	for range 2 { // writing it again changes nothing
		if err := h.WriteMarker(want); err != nil {
			t.Fatal(err)
		}
	}
	var wire map[string]any
	if err := json.Unmarshal([]byte(read(t, h.Marker())), &wire); err != nil || wire["life"] != "01LIFE" || wire["at"] != "2026-01-02T03:04:05.006Z" {
		t.Errorf("the file says %v, %v", wire, err)
	}
	got, found, err := h.ConsumeMarker()
	if err != nil || !found || !got.At.Equal(want.At.Time) || got.Life != want.Life || got.Reason != want.Reason || got.By != want.By {
		t.Errorf("got %+v, %v, %v; want %+v", got, found, err, want)
	}
	if _, found, err := h.ConsumeMarker(); found || err != nil {
		t.Errorf("a second time: %v, %v", found, err)
	}
	want.Reason = strings.Repeat("why ", 1<<20)
	if err := h.WriteMarker(want); err != nil {
		t.Fatal(err)
	}
	if got, found, err := h.ConsumeMarker(); !found || err != nil || got.Life != want.Life {
		t.Errorf("one with a long reason: %+v, %v, %v", got, found, err)
	}
}

func FuzzParseRecord(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "null", "1234", "[]", `{"pid":1}`, `{"pid":-1}`, `{"pid":4711,"start_ticks":5,"boot_id":"b","life":"l","version":"v","started_at":"2026-01-02T03:04:05Z","control":"/x"}`,
		`{"pid":1,"version":"\u001b[2J"}`, `{"pid":1,"control":"relative"}`, `{"pid":99999999999}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := parseRecord(b)
		if err != nil {
			if r != (Record{}) {
				t.Fatalf("an error and %+v", r)
			}
			return
		}
		if r.PID <= 0 || !plain(r.Version) || !plain(r.Life) || len(r.Control) > maxSocketPath {
			t.Fatalf("%+v is taken", r)
		}
		if alive, known := Alive(r); alive && !known {
			t.Fatalf("%+v lives and is not known", r)
		}
		if text := (&HeldError{Home: "/h", Holder: r}).Error(); !plain(text) {
			t.Fatalf("the message is %q", text)
		}
		again, err := encode(r)
		if err != nil {
			return // a year that RFC 3339 does not have
		}
		if back, err := parseRecord(again); err == nil && (back.PID != r.PID || back.Control != r.Control) {
			t.Fatalf("%+v comes back as %+v", r, back)
		}
	})
}

func FuzzParseMarker(f *testing.F) {
	for _, seed := range []string{"", "{}", "null", `{"life":"l"}`, `{"life":"l","at":"2026-01-02T03:04:05Z","reason":"r","by":"b"}`, `{"life":"\n"}`, `{"life":"l","at":7}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := parseMarker(b)
		if err == nil && (m.Life == "" || !plain(m.Life)) || err != nil && m != (Marker{}) {
			t.Fatalf("got %+v, %v", m, err)
		}
	})
}
