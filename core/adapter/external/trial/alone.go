package trial

import (
	"maps"
	"slices"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/process/pipe"
)

// alone are the rows that need no peer. The first one says whether there is a point in the others.
var alone = []row{
	{"it is ready in time, and says what it can do", (*stage).isReadyInTime, false},
	{"it ignores types and fields that it does not know", (*stage).ignoresTheUnknown, false},
	{"it ignores an empty line", (*stage).ignoresEmptyLines, false},
	{"it answers pings", (*stage).answersPings, false},
	{"it refuses requests for a chat that there is not", (*stage).refusesUnknownChats, false},
	{"a stop ends it, and it writes nothing more", (*stage).endsAtAStop, false},
	{"the end of its standard input ends it", (*stage).endsWithItsInput, false},
	{"no process of it is left when it has ended", (*stage).leavesNoProcess, false},
	{"it names a credential that is missing", (*stage).namesWhatIsMissing, false},
	{"many starts and ends leave nothing", (*stage).leavesNothing, false},
}

// abilities are those of the protocol.
var abilities = []adapter.Ability{
	adapter.AbilityGroups, adapter.AbilityThreads, adapter.AbilityTyping, adapter.AbilityEdit, adapter.AbilityReactions, adapter.AbilityButtons,
	adapter.AbilityFilesIn, adapter.AbilityFilesOut, adapter.AbilityMenu, adapter.AbilityFormat, adapter.AbilityIdempotent,
}

func (l said) can(a adapter.Ability) bool { return slices.Contains(l.Abilities, string(a)) }

func (s *stage) isReadyInTime() (notShown string) {
	began := time.Now()
	s.unready = true
	p := s.start(s.env())
	p.hello(nil)
	line := p.isReady()
	s.unready, s.took = false, time.Since(began)
	for i, a := range line.Abilities {
		switch {
		case !slices.Contains(abilities, adapter.Ability(a)):
			s.Errorf("the protocol has no ability %s", cut(a))
		case slices.Contains(line.Abilities[:i], a):
			s.Errorf("it has the ability %q twice", a)
		}
	}
	return ""
}

func (s *stage) ignoresTheUnknown() (notShown string) {
	p := s.start(s.env())
	p.hello(fields{"no_such_field": fields{"a": []int{1}}})
	p.isReady()
	p.tell("no_such_type", fields{"chat": "1"})
	p.ping(fields{"no_such_field": true})
	return ""
}

func (s *stage) ignoresEmptyLines() (notShown string) {
	p := s.ready()
	p.write("", "")
	p.ping(fields{})
	return ""
}

func (s *stage) answersPings() (notShown string) {
	p := s.ready()
	began := time.Now()
	var ids []int64
	for range 3 {
		ids = append(ids, p.ask("ping", fields{}))
	}
	for range ids {
		line, why := p.next(answerMost)
		at := slices.Index(ids, line.ID)
		switch {
		case why != "":
			s.Fatalf("one of %d pings has no result: it %s", len(ids), why)
		case line.Type != "result" || at < 0:
			s.Fatalf("it answered with the type %q and the id %d, want results of %v", line.Type, line.ID, ids)
		case line.QuietMS < 0 || line.QuietMS > (s.took+time.Since(began)+time.Minute).Milliseconds():
			s.Errorf("its quiet_ms is %d, and it was ready a moment ago", line.QuietMS)
		}
		ids[at] = 0
	}
	return ""
}

// noSuchChat is not an address of any platform.
const noSuchChat = "no such chat"

func (s *stage) refusesUnknownChats() (notShown string) {
	p := s.start(s.env())
	p.hello(nil)
	ready := p.isReady()
	asked := map[int64]string{p.ask("send", fields{"chat": noSuchChat, "text": "hello", "key": "k1"}): "send"}
	for _, r := range []struct {
		of   adapter.Ability
		kind string
		f    fields
	}{
		{adapter.AbilityEdit, "edit", fields{"chat": noSuchChat, "message": "1", "text": "hello"}},
		{adapter.AbilityReactions, "react", fields{"chat": noSuchChat, "message": "1", "emoji": "👍"}},
		{adapter.AbilityFilesOut, "file", fields{"chat": noSuchChat, "name": "a.txt", "media_type": "text/plain", "content": []byte("a"), "key": "k2"}},
		{adapter.AbilityFilesIn, "fetch", fields{"ref": "no such file", "most": 1}},
	} {
		if ready.can(r.of) {
			asked[p.ask(r.kind, r.f)] = r.kind
		}
	}
	until := time.Now().Add(answerMost)
	for len(asked) > 0 {
		line, why := p.next(time.Until(until))
		if why != "" {
			s.Fatalf("a %s has no result: it %s", slices.Sorted(maps.Values(asked))[0], why)
		}
		kind, is := asked[line.ID]
		switch {
		case line.Type != "result" || !is:
			s.Fatalf("it answered with the type %q and the id %d, want results of %v", line.Type, line.ID, asked)
		case line.Error == nil:
			s.Errorf("the result of %s has no error", kind)
		case line.Error.Code != "refused" && line.Error.Code != "rate_limit":
			s.Errorf("the result of %s has the error %s, want refused or rate_limit: %s", kind, cut(line.Error.Code), line.Error.Text)
		}
		delete(asked, line.ID)
	}
	return ""
}

// stop asks the program to end, if it has not.
func (p *program) stop() {
	_ = pipe.Write(p.s.ctx, p.in, []byte(`{"type":"stop"}`+"\n"), 0)
	_ = p.in.Close()
}

// ends reports whether the program ends by itself, within a second from now and what a busy machine may add.
func (p *program) ends() bool {
	_, over := p.exit(p.s.pace.end)
	return over
}

func (s *stage) endsAtAStop() (notShown string) {
	p := s.ready()
	p.ping(fields{})
	p.stop()
	if s.runsOn = !p.ends(); s.runsOn {
		s.Errorf("it runs on %s after a stop", endMost)
	}
	for late := time.After(endMost); ; {
		select {
		case line, open := <-p.lines:
			if !open {
				return ""
			}
			s.Errorf("after the stop it wrote %s", cut(line))
		case <-late: // what it has started holds its standard output
			return ""
		}
	}
}

func (s *stage) endsWithItsInput() (notShown string) {
	p := s.ready()
	_ = p.in.Close()
	if !p.ends() {
		s.Errorf("it runs on %s after the end of its standard input", endMost)
	}
	return ""
}

// left waits until nothing is left of a program that has ended, and returns how many processes there still are.
func (p *program) left() int {
	for until := time.Now().Add(p.s.pace.left); ; p.s.Pass(20 * time.Millisecond) {
		n, err := p.p.Left()
		if err != nil {
			p.s.Fatalf("its processes cannot be counted: %v", err)
		}
		if n == 0 || time.Now().After(until) || p.s.ctx.Err() != nil {
			return n
		}
	}
}

const endsNot = "it does not end by itself"

func (s *stage) leavesNoProcess() (notShown string) {
	if s.runsOn {
		return endsNot
	}
	p := s.ready()
	p.ping(fields{})
	p.stop()
	if !p.ends() {
		return endsNot
	}
	if n := p.left(); n > 0 {
		s.Errorf("it has ended, and %d processes that it has started run on", n)
	}
	return ""
}

func (s *stage) namesWhatIsMissing() (notShown string) {
	env := s.env()
	if len(env) == 0 {
		return "it gets no variable (--env NAME) that could be missing"
	}
	p := s.start(nil)
	p.hello(nil)
	line, why := p.next(readyMost)
	_, named := env[line.Variable]
	switch {
	case why != "":
		s.Fatalf("without its variables it writes no failed: it %s", why)
	case line.Type == "ready":
		return "it is ready without its variables"
	case line.Type != "failed" || line.Code != "credentials" || !named:
		s.Errorf("without its variables it wrote the type %q, the code %q and the variable %q, want failed, credentials, and one of them", line.Type, line.Code, line.Variable)
	}
	if !p.ends() {
		s.Error("it wrote failed, and runs on")
	}
	return ""
}

// leavesNothing starts the program without its variables, and ends it while it connects, by turns.
func (s *stage) leavesNothing() (notShown string) {
	if s.runsOn {
		return endsNot
	}
	for i := range s.repeats() {
		env := s.env()
		if i%2 == 0 {
			env = nil
		}
		p := s.start(env)
		p.hello(nil)
		p.stop()
		if !p.ends() {
			return endsNot
		}
		if n := p.left(); n > 0 {
			s.Fatalf("after start %d, %d processes that it has started run on", i+1, n)
		}
	}
	return ""
}

// repeats is how often a row starts the program: less if it takes long.
func (s *stage) repeats() int {
	const least, most, within = 3, 20, 15 * time.Second
	return max(least, min(most, int(within/max(s.took, time.Millisecond))))
}
