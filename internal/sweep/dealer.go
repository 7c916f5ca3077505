package sweep

import "github.com/throughline/throughline/internal/conversation"

// perUser is how many records of one user a dealer has at most. The others stay in the index until it has room.
const perUser = 16

// dealer deals records out in turn among their users, each user's in the order in which they were added.
type dealer struct {
	records map[conversation.UserID][]Due
	turns   []conversation.UserID
	size    int
}

// add reports false where the user has enough records.
func (d *dealer) add(r Due) bool {
	waiting := d.records[r.User]
	if len(waiting) >= perUser {
		return false
	}
	if len(waiting) == 0 {
		d.turns = append(d.turns, r.User)
	}
	d.records[r.User] = append(waiting, r)
	d.size++
	return true
}

// users is the number of users who have records.
func (d *dealer) users() int { return len(d.turns) }

// next returns the first record of the user whose turn it is. The dealer must not be empty.
func (d *dealer) next() Due {
	user := d.turns[0]
	d.turns = d.turns[1:]
	r, rest := d.records[user][0], d.records[user][1:]
	if d.size--; len(rest) == 0 {
		delete(d.records, user)
		return r
	}
	d.records[user] = rest
	d.turns = append(d.turns, user)
	return r
}
