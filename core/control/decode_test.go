package control

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"gatewaytui/core/ops"
)

const plainLine = `{"seq":7,"at":"2026-11-21T12:04:05.006Z","type":"session.turn.ended","subject":"api:user:c1","text":"turn done · ok","data":{"elapsed_ms":12,"state":"done","turn":"01T","again":true}}`

func sameEvent(t *testing.T, line string) {
	t.Helper()
	var want ops.Event
	wantErr := json.Unmarshal([]byte(line), &want)
	got, err := decodeEvent(line)
	if (err != nil) != (wantErr != nil) {
		t.Fatalf("%q gave the error %v, encoding/json %v", line, err, wantErr)
	}
	if err == nil && !reflect.DeepEqual(got, want) {
		t.Fatalf("%q gave %+v, encoding/json %+v", line, got, want)
	}
}

func FuzzAnEventIsDecodedAsEncodingJSONDoes(f *testing.F) {
	for _, line := range []string{
		plainLine, "", "{}", "null",
		`{"seq":1,"at":null,"type":"x","subject":"a\"b","text":"\u001b"}`,
		`{"seq":1,"at":"","type":"x","subject":"a","text":""}`,
		`{"seq":01,"at":"2026-11-21T12:04:05Z","type":"x","subject":"a","text":""}`,
		`{"seq":1,"at":"2026-11-21T12:04:05Z","type":"x","subject":"a","text":"","data":{}}`,
		`{"seq":1,"at":"2026-11-21T12:04:05Z","type":"x","subject":"a","text":"","data":{"n":1.5,"p":{"a":[1]}}}`,
		`{"seq":1,"at":"2026-11-21T12:04:05Z","type":"x","subject":"` + "\xff" + `","text":"","data":{"n":1,}}`,
		`{"seq":12345678901234567890,"at":"2026-11-21T12:04:05Z","type":"x","subject":"a","text":"","data":{"n":-0}}`,
	} {
		f.Add(line)
	}
	f.Fuzz(sameEvent)
}

func TestTheEventsOfATurnAreDecodedWithoutEncodingJSON(t *testing.T) {
	if _, ok := plainEvent(plainLine); !ok {
		t.Error("a line as the gateway writes it was left to encoding/json")
	}
	sameEvent(t, plainLine)
}

// sameSnapshot decodes a text with a decoder that has seen others.
func sameSnapshot(t *testing.T, r *rows, text string) {
	t.Helper()
	var want ops.Snapshot
	wantErr := json.Unmarshal([]byte(text), &want)
	got, err := r.snapshot([]byte(text))
	if (err != nil) != (wantErr != nil) {
		t.Fatalf("%q gave the error %v, encoding/json %v", text, err, wantErr)
	}
	if err == nil && !reflect.DeepEqual(got, want) {
		t.Fatalf("%q gave %+v, encoding/json %+v", text, got, want)
	}
}

func FuzzASnapshotIsDecodedAsEncodingJSONDoes(f *testing.F) {
	for _, text := range []string{
		"", "{}", "null", "[]", `{"sessions":null}`, `{"sessions":[]}`, `{"sessions":[{}]} `, `{"sessions":[null]}`,
		`{"seq":4,"sessions":[{"key":"a,]}\"\\","queued":1},{"key":"b"}],"warnings":["\"sessions\":["]}`,
		`{"sessions":[{"key":"a"}],"sessions":[{"key":"b"}]}`, `{"Sessions":[{"key":"a"}],"sessions":[]}`,
		`{"sessions":[{"key":"a"},]}`, `{"sessions":[{"key":"a"]}}`, `{"sessions":[{"key":1}]}`, `{"sessions":[{"key":"a"}]}x`,
		`{"sessions":[{"key":"a"}],"omitted":{"sessions":3}}`, `{ "sessions" : [ {"key":"a"} ] }`, `{"sessions":["`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var r rows
		sameSnapshot(t, &r, `{"sessions":[{"key":"a"},{"key":"b"}]}`)
		sameSnapshot(t, &r, text)
		sameSnapshot(t, &r, text)
	})
}

func TestASessionThatChangesIsDecodedAgainAndOneThatIsGoneIsForgotten(t *testing.T) {
	var r rows
	for round := range 20 {
		var all []string
		for i := range 100 {
			all = append(all, fmt.Sprintf(`{"key":"s%d","queued":%d}`, i, round*min(i%3, 1)))
		}
		sameSnapshot(t, &r, `{"seq":1,"sessions":[`+strings.Join(all, ",")+`]}`)
	}
	if n := len(r.kept); n > 200 {
		t.Errorf("%d rows are kept after snapshots of 100", n)
	}
}

func BenchmarkDecode(b *testing.B) {
	b.Run("event", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = decodeEvent(plainLine)
		}
	})
	b.Run("snapshot", func(b *testing.B) {
		s := ops.Snapshot{Sessions: make([]ops.Session, ops.SnapshotSessions)}
		for i := range s.Sessions {
			s.Sessions[i] = ops.Session{Key: fmt.Sprintf("api:user:c%d", i), ID: "01JD", State: "idle", Platform: "api", User: "maria", LastActivityAt: testTime}
		}
		text, err := json.Marshal(s)
		if err != nil {
			b.Fatal(err)
		}
		var r rows
		b.ReportAllocs()
		for b.Loop() {
			if _, err := r.snapshot(text); err != nil {
				b.Fatal(err)
			}
		}
	})
}
