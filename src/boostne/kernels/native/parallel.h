// Threads that exist for the duration of one call.
//
// std::thread instead of OpenMP: there is no runtime to bundle on macOS and Windows and none that could conflict with
// the runtime of BLAS or torch, and fork() is safe because no thread outlives the call. Starting a thread takes about
// 20 microseconds, a pass over the residual a millisecond or more.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace boostne {

// Tasks [0, count), taken in order by several threads. If one of them fails, no further task is started.
class Tasks {
 public:
  explicit Tasks(int64_t count) : count_(count) {}

  // Returns the next task, or -1 if there is none.
  int64_t take() {
    const int64_t task = next_.fetch_add(1);
    return task < count_ ? task : -1;
  }

  // Runs the last step of a task after that of all earlier tasks, so that sums do not depend on the number of threads.
  // Does nothing if a task has failed, whose last step would be waited for in vain.
  template <class Body> void run_in_order(int64_t task, const Body& body) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return error_ || next_in_order_ == task; });
    if (error_) return;
    body();
    ++next_in_order_;
    changed_.notify_all();
  }

  // Stores the first exception of a task.
  void fail(std::exception_ptr error) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!error_) error_ = std::move(error);
    next_ = count_;
    changed_.notify_all();
  }

  void rethrow_error() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  const int64_t count_;
  std::atomic<int64_t> next_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t next_in_order_ = 0;
  std::exception_ptr error_;
};

// Calls body(task, thread, tasks) for every task in [0, count), dynamically scheduled; tasks.run_in_order() orders
// their last steps. Throws the first exception of a task, after all threads have ended.
template <class Body> void parallel_for_in_order(int64_t count, int threads, const Body& body) {
  Tasks tasks(count);
  auto work = [&](int thread) noexcept {
    try {
      for (int64_t task; (task = tasks.take()) >= 0;) body(task, thread, tasks);
    } catch (...) {
      tasks.fail(std::current_exception());
    }
  };
  if (threads > count) threads = static_cast<int>(count);
  std::vector<std::thread> others;
  try {
    others.reserve(threads > 1 ? threads - 1 : 0);
    for (int t = 1; t < threads; ++t) others.emplace_back(work, t);
  } catch (const std::system_error&) {  // no further thread can be started: those that exist take all tasks
  } catch (const std::bad_alloc&) {
  }
  work(0);
  for (auto& other : others) other.join();
  tasks.rethrow_error();
}

// Calls body(task, thread) for every task, in the same way.
template <class Body> void parallel_for(int64_t count, int threads, const Body& body) {
  parallel_for_in_order(count, threads, [&](int64_t task, int thread, Tasks&) { body(task, thread); });
}

}  // namespace boostne
