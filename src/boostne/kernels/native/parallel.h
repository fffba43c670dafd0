// Threads that live for one call.
//
// std::thread rather than OpenMP: no runtime to bundle on macOS and Windows, none to clash with the one that
// BLAS or torch brought along, and, since nothing outlives the call, a later fork() is safe. Starting a thread
// costs some 20 microseconds, a pass over the residual a millisecond or more.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace boostne {

// Calls body(task, thread) for every task in [0, tasks), each on whichever thread is free.
template <class Body>
void parallel_for(int64_t tasks, int threads, const Body& body) {
  std::atomic<int64_t> next{0};
  auto work = [&](int thread) {
    for (int64_t task; (task = next.fetch_add(1)) < tasks;) body(task, thread);
  };
  if (threads > tasks) threads = static_cast<int>(tasks);
  std::vector<std::thread> others;
  for (int t = 1; t < threads; ++t) others.emplace_back(work, t);
  work(0);
  for (auto& other : others) other.join();
}

// Lets tasks run in parallel but do their last step in the order of their numbers: a sum taken in that order
// does not depend on how many threads there were.
class Turnstile {
 public:
  template <class Body>
  void in_turn(int64_t task, const Body& body) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return turn_ == task; });
    body();
    ++turn_;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t turn_ = 0;
};

}  // namespace boostne
