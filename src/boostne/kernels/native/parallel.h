// Threads that exist for the duration of one call.
//
// std::thread instead of OpenMP: there is no runtime to bundle on macOS and Windows and none that could conflict with
// the runtime of BLAS or torch, and fork() is safe because no thread outlives the call. Starting a thread takes about
// 20 microseconds, a pass over the residual a millisecond or more.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace boostne {

// Calls body(task, thread) for every task in [0, tasks), dynamically scheduled.
template <class Body> void parallel_for(int64_t tasks, int threads, const Body& body) {
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

// Serializes the last step of parallel tasks in task order, so that sums do not depend on the number of threads.
class OrderedSection {
 public:
  template <class Body> void run(int64_t task, const Body& body) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return next_ == task; });
    body();
    ++next_;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t next_ = 0;
};

}  // namespace boostne
