package host

import (
	"os"
	"time"

	madeup "gatewaytui/core/adapter/demo"
	"gatewaytui/core/gateway"
	"gatewaytui/core/instance"
	"gatewaytui/core/ops"
)

// A life is the host of its gateway.
var _ gateway.Host = (*life)(nil)

// APIListen is where the api adapter listens, empty while it does not.
func (l *life) APIListen() string {
	if l.parts.api == nil {
		return ""
	}
	return l.parts.api.Addr()
}

// MetricsListen is where the metrics are served, and what is wrong with that; both are empty where there is no listener.
func (l *life) MetricsListen() (addr string, trouble ops.Warning) {
	if l.scraper.scrape == nil {
		return "", ops.Warning{}
	}
	trouble, _ = l.scraper.scrape.Warning()
	return l.scraper.scrape.Addr(), trouble
}

func (l *life) LogTrouble() (text string, since time.Time) { return l.logs.FileTrouble() }

// Demo is what a demo shows about itself; nil where the gateway is none.
func (l *life) Demo() *ops.Demo {
	if l.parts.talk == nil {
		return nil
	}
	return &ops.Demo{Hangs: madeup.Hangs(l.prepared.demo), Talk: l.parts.talk.Lines()}
}

func (l *life) LastReport(life string) (r ops.Shutdown, found bool, err error) {
	return l.files.LastReport(life)
}

func (l *life) Diagnosis() (f *os.File, err error) {
	err = l.spares.spend(func() error { f, err = l.files.Create("diagnosis"); return err })
	return f, err
}

func (l *life) Mark(m instance.Marker) error {
	return l.spares.spend(func() error { return l.home.WriteMarker(m) })
}

func (l *life) SaveReport(r ops.Shutdown) error {
	return l.spares.spend(func() error { return l.files.SaveReport(r) })
}

func (l *life) Dump() { _, _ = l.files.Dump("watchdog") } // the process ends with or without it

func (l *life) Over(code int) {
	backstop(code, func(code int) {
		l.log.Error("the process did not end by itself", "exit_code", code, "bound_ms", endBound.Milliseconds())
		l.Exit(code)
	}, os.Exit)
}
