package timeline

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/ops"
)

func shown(r Record) string {
	var b strings.Builder
	for _, i := range r.Items {
		fmt.Fprintf(&b, "%s %s %s %d-%d %s\n", i.Kind, i.Name, i.Head, i.Start, i.End, i.Result)
	}
	fmt.Fprintf(&b, "%d left out %v", r.Left, r.Sums)
	return b.String()
}

// OP3: parts are in the order of their start, what goes on has no end, and what waited for a person does not count twice.
func TestOP3_ATurnIsRecordedAsItHappens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(time.Now(), time.Now().Add(-2*time.Second))
		m := l.Begin(ops.TimelineModel, "main", "")
		time.Sleep(3 * time.Second)
		m.Used(100, 40, 7, 0.5, true)
		m.End("")
		m.End("a second end")
		call := l.Begin(ops.TimelineTool, "terminal", "")
		call.Says("rm -r build")
		call.Says("waiting for approval")
		ask := call.Ask("rm -r build")
		time.Sleep(40 * time.Second)
		if got := l.Record("", false); len(got.Items) != 3 || got.Items[2].Kind != ops.TimelineApproval || got.Items[2].End != open {
			t.Fatalf("while a person is asked:\n%s", shown(got))
		}
		ask.End("allowed by alice")
		call.Again()
		time.Sleep(time.Second)
		call.End("exit 0")
		time.Sleep(time.Second)
		l.Begin(ops.TimelineModel, "main", "")
		time.Sleep(time.Second)
		const want = `wait queue  -2000-0 
model main  0-3000 
approval terminal rm -r build 3000-43000 allowed by alice
tool terminal rm -r build 43000-44000 exit 0
model main  45000-46000 interrupted
0 left out [{wait 1 2000} {model 2 4000} {approval 1 40000} {tool 1 1000}]`
		if got := shown(l.Record("", true)); got != want {
			t.Errorf("recorded\n%s\nwant\n%s", got, want)
		}
		r, err := Decode(l.Record("coder", true).Encode())
		if err != nil || r.Agent != "coder" || shown(r) != want {
			t.Errorf("read again (%v)\n%s", err, shown(r))
		}
		items, sums := l.Record("", false).Rows(time.Now(), 46_500, false)
		if last := items[4]; last.ElapsedMS != 1500 || !last.EndedAt.IsZero() || len(sums) != 4 || items[2].Text != "" || *items[1].Cost != 0.5 {
			t.Errorf("the rows are %+v %+v", items, sums)
		}
	})
}

func TestOP3_ARefusedCallIsItsAnswerAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(time.Now(), time.Time{})
		call := l.Begin(ops.TimelineTool, "terminal", "")
		ask := call.Ask("rm -r build")
		ask.End("denied by bob")
		call.Again()
		call.End(ops.TimelineNotRun)
		if got, want := shown(l.Record("", true)), "approval terminal rm -r build 0-0 denied by bob\n0 left out [{approval 1 0}]"; got != want {
			t.Errorf("recorded\n%s\nwant\n%s", got, want)
		}
	})
}

// OP3: a turn of many calls is bounded: the longest are kept, and the sums have all.
func TestOP3_ATimelineIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(time.Now(), time.Time{})
		for i := range 3 * Most {
			s := l.Begin(ops.TimelineTool, strings.Repeat("n", 500), "")
			s.Says(strings.Repeat("x", 5000) + "\x1b[2J")
			time.Sleep(time.Duration(1+i%3) * time.Second)
			s.End(strings.Repeat("r", 500))
		}
		r := l.Record("", true)
		if len(r.Items) != Most || r.Left != 2*Most || r.Sums[0].Calls != 3*Most || r.Sums[0].MS != int64(2000*3*Most) {
			t.Fatalf("%d items, %d left out, %v", len(r.Items), r.Left, r.Sums)
		}
		for i, item := range r.Items[:Most-1] {
			if item.took() != 3000 {
				t.Fatalf("item %d took %d ms, and longer ones are left out", i, item.took())
			}
		}
		if n := len(r.Encode()); n > 60_000 {
			t.Errorf("it has %d bytes", n)
		}
		if strings.Contains(r.Encode(), "\x1b") || strings.Contains(r.Encode(), `\u001b`) {
			t.Error("it has a control character")
		}
	})
}

func TestOP3_ATurnThatIsNotRecordedCostsNothing(t *testing.T) {
	var l *Line
	s := l.Begin(ops.TimelineTool, "terminal", "")
	s.Says("x")
	s.Named("y")
	s.Used(1, 2, 3, 4, true)
	s.Ask("z").End("")
	s.Again()
	s.End("")
	if r := l.Record("", true); len(r.Items) != 0 {
		t.Errorf("recorded %v", r)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(`{"items":[{"k":"model","n":"m","s":0,"e":-1}],"sums":[]}`)
	f.Fuzz(func(_ *testing.T, text string) {
		if r, err := Decode(text); err == nil {
			r.Rows(time.Unix(0, 0), 5, true)
		}
	})
}

func BenchmarkACall(b *testing.B) {
	l, calls := New(time.Now(), time.Time{}), 0
	for b.Loop() {
		if calls++; calls%Most == 0 {
			l = New(time.Now(), time.Time{})
		}
		s := l.Begin(ops.TimelineTool, "terminal", "")
		s.Says("go test ./...")
		s.End("exit 0")
	}
}

func BenchmarkTheEndOfATurnWith20Calls(b *testing.B) {
	l := New(time.Now(), time.Time{})
	for range 20 {
		s := l.Begin(ops.TimelineTool, "terminal", "")
		s.Says("go test ./...")
		s.End("exit 0")
	}
	b.ReportAllocs()
	for b.Loop() {
		_ = l.Record("default", true).Encode()
	}
}
