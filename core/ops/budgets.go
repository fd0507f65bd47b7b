package ops

// UsageGroups are what usage is grouped by.
var UsageGroups = []string{"day", "agent", "person", "model", "session"}

// UsageQuery selects what was used.
type UsageQuery struct {
	// By is one of UsageGroups; empty is day.
	By string
	// Since is the first day, such as 2026-11-22, in the zone of the budgets; empty is the first day of the month.
	Since string
}

// Usage is what the model calls of a group used (TR8): of a day, an agent, a person, a model or a session. An empty Group is of none,
// or of people and sessions whose data was deleted.
type Usage struct {
	Group     string `json:"group"`
	Calls     int64  `json:"calls"`
	TokensIn  int64  `json:"tokens_in"`
	TokensOut int64  `json:"tokens_out"`
	// Cached are the tokens of TokensIn that came from a model's cache, Unpriced those in and out of calls whose cost is not known.
	Cached   int64 `json:"cached"`
	Unpriced int64 `json:"unpriced"`
	// Cost is the money for the other calls; null: there is none whose cost is known.
	Cost     *float64 `json:"cost"`
	Currency string   `json:"currency"`
	// Estimated says that calls are counted by an estimate: they were cut off, or their endpoint did not report what they used.
	Estimated bool `json:"estimated"`
}

// BudgetWindow is a limit of a budget, with what is used of it.
type BudgetWindow struct {
	// Window is turn, session, person, job, day, month, or tokens: those of a day that have no price.
	Window string `json:"window"`
	// Limit is what may be spent, with what the budget was raised by; 0: there is no limit.
	Limit float64 `json:"limit"`
	// Spent is what calls cost, Reserved what the calls under way may cost; null for a window of which there are many.
	Spent    *float64 `json:"spent"`
	Reserved *float64 `json:"reserved"`
	// RenewsAt is when the window ends; null: it ends with its turn, its session or its run.
	RenewsAt Time `json:"renews_at"`
}

// Budget is one of [budgets.NAME].
type Budget struct {
	Name     string         `json:"name"`
	Currency string         `json:"currency"`
	Zone     string         `json:"zone"`
	Windows  []BudgetWindow `json:"windows"`
	Raises   []BudgetRaise  `json:"raises"`
}

// BudgetRaise is what a budget was lifted by for a time: each limit on money by Money, and that on tokens by Tokens.
type BudgetRaise struct {
	Money  float64 `json:"money"`
	Tokens int64   `json:"tokens"`
	Until  Time    `json:"until"`
	By     string  `json:"by"`
	At     Time    `json:"at"`
}

// BudgetToday is what a budget has used today, of how much; a limit of 0 is none. Tokens are those without a price.
type BudgetToday struct {
	Name        string  `json:"name"`
	Currency    string  `json:"currency"`
	Spent       float64 `json:"spent"`
	Limit       float64 `json:"limit"`
	Tokens      int64   `json:"tokens"`
	TokensLimit int64   `json:"tokens_limit"`
}
