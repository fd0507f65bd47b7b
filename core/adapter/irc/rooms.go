package irc

import (
	"time"
)

// rooms are the channels that the bot should be in.
type rooms []*room

// room is one of them.
type room struct {
	name string
	// joined is when the bot joined; zero: it is not in it, because of why.
	joined time.Time
	why    string
	// next is when it tries again, and tries how often it has.
	next  time.Time
	tries int
}

func newRooms(names []string) (all rooms) {
	for _, name := range names {
		all = append(all, &room{name: name, why: "not joined yet"})
	}
	return all
}

// find is the room of this name; nil: the bot should not be in it.
func (r rooms) find(name string) *room {
	for _, one := range r {
		if fold(one.name) == fold(name) {
			return one
		}
	}
	return nil
}

// missing are the rooms to join now. Each counts as a try.
func (r rooms) missing(now time.Time, l limits) (names []string) {
	for _, one := range r {
		if !one.joined.IsZero() || now.Before(one.next) {
			continue
		}
		names = append(names, one.name)
		one.next = now.Add(min(l.rejoin<<min(one.tries, 10), l.most))
		one.tries++
	}
	return names
}

// lacking are the rooms that the bot is not in, with the reason.
func (r rooms) lacking() (all []string) {
	for _, one := range r {
		if one.joined.IsZero() {
			all = append(all, "the channel "+one.name+": "+one.why)
		}
	}
	return all
}

// enter notes that the bot is in the room.
func (r *room) enter(now time.Time) { r.joined, r.why = now, "" }

// leave notes that it is not. Where it was in it for long, the first try is soon again.
func (r *room) leave(now time.Time, l limits, why string) {
	if !r.joined.IsZero() && now.Sub(r.joined) >= l.most {
		r.tries = 0
	}
	if !r.joined.IsZero() {
		r.next = now.Add(min(l.rejoin<<min(r.tries, 10), l.most))
	}
	r.joined, r.why = time.Time{}, why
}
