package bot

import (
	"net/http"
	"time"

	"gatewaytui/core/adapter"
)

// Clock makes client remember the Date of its answers. The function that it returns adds what the last one says of this machine's clock
// to findings. Both are for one goroutine.
func Clock(client *http.Client) func(findings []adapter.Finding) []adapter.Finding {
	d := &dated{RoundTripper: client.Transport}
	client.Transport = d
	return func(findings []adapter.Finding) []adapter.Finding {
		if f, is := adapter.ClockFinding(d.at, d.last); is {
			findings = append(findings, f)
		}
		return findings
	}
}

// dated is a RoundTripper that remembers the header of the last answer, and when it came.
type dated struct {
	http.RoundTripper
	last http.Header
	at   time.Time
}

func (d *dated) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := d.RoundTripper.RoundTrip(req)
	if err == nil {
		d.last, d.at = resp.Header, time.Now()
	}
	return resp, err
}

// CloseIdleConnections is called by http.Client's.
func (d *dated) CloseIdleConnections() {
	if c, is := d.RoundTripper.(interface{ CloseIdleConnections() }); is {
		c.CloseIdleConnections()
	}
}
