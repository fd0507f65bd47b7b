package adapter

// Counter is a figure of a platform that only grows, for the gateway's metrics. Its name and its help follow the
// conventions of Prometheus (https://prometheus.io/docs/practices/naming/).
type Counter struct {
	Name, Help string
	// Value is read at each scrape. It must be cheap and must not wait.
	Value func() uint64
}

// Counting is implemented by a Platform with counters.
type Counting interface {
	// Counters returns the same counters at each call; no two platforms have one of the same name.
	Counters() []Counter
}
