package gateway

import (
	"time"

	"gatewaytui/core/operator"
	"gatewaytui/core/ops"
)

// host is what the owner of the gateway knows, from its options.
type host struct{ o Options }

var _ operator.Host = host{}

func (h host) APIListen() string {
	if h.o.APIListen == nil {
		return ""
	}
	return h.o.APIListen()
}

func (h host) MetricsListen() (addr string, trouble ops.Warning) {
	if h.o.MetricsListen == nil {
		return "", ops.Warning{}
	}
	return h.o.MetricsListen()
}

func (h host) LogTrouble() (text string, since time.Time) {
	if h.o.LogTrouble == nil {
		return "", time.Time{}
	}
	return h.o.LogTrouble()
}

func (h host) Demo() *ops.Demo {
	if h.o.Demo == nil {
		return nil
	}
	return h.o.Demo()
}

func (h host) Diagnosis() (operator.File, error) { return h.o.Diagnosis() }
