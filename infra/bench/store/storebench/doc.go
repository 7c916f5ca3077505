// Package storebench measures the message store side by side with what users come from, a message array inside one item,
// and with what no store can do without: the bare transaction of the same items and the bare query. Each contender
// does the same work, in turns, in one run, on one engine (design 6).
package storebench
