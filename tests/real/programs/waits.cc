// SPDX-License-Identifier: MIT
// The C++ library's ways to wait: mutex, shared_mutex, condition_variable,
// future, call_once, exceptions thrown across frames that wait, and a futex
// behind std::atomic.  Deterministic sums are printed.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <future>
#include <iostream>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <thread>
#include <vector>

static const int N = 800;

template <class T> class Queue {
	std::mutex m;
	std::condition_variable filled, emptied;
	std::deque<T> q;

public:
	void put(T v)
	{
		std::unique_lock lock(m);
		emptied.wait(lock, [this] { return q.size() < 2; });
		q.push_back(v);
		filled.notify_one();
	}
	T take()
	{
		std::unique_lock lock(m);
		filled.wait(lock, [this] { return !q.empty(); });
		T v = q.front();
		q.pop_front();
		emptied.notify_one();
		return v;
	}
};

static long queue()
{
	Queue<long> q;
	std::vector<std::thread> threads;
	std::atomic<long> sum{0};
	for (int i = 0; i < 3; i++) {
		threads.emplace_back([&] { for (int k = 0; k < N; k++) q.put(k); });
		threads.emplace_back([&] { for (int k = 0; k < N; k++) sum += q.take(); });
	}
	for (auto &t : threads)
		t.join();
	return sum;
}

static long shared()
{
	std::shared_mutex m;
	long value = 0;
	std::vector<std::thread> threads;
	for (int i = 0; i < 4; i++)
		threads.emplace_back([&, i] {
			for (int k = 0; k < N; k++) {
				if ((k + i) % 8) {
					std::shared_lock lock(m);
					if (value < 0)
						std::abort();
				} else {
					std::unique_lock lock(m);
					value++;
					if (k % 64 == 0)
						std::this_thread::sleep_for(std::chrono::microseconds(50));
				}
			}
		});
	for (auto &t : threads)
		t.join();
	return value;
}

static long futures()
{
	std::vector<std::future<long>> all;
	long sum = 0, thrown = 0;
	for (int i = 0; i < 64; i++)
		all.push_back(std::async(std::launch::async, [i]() -> long {
			std::this_thread::sleep_for(std::chrono::microseconds(300));
			if (i % 4 == 0)
				throw std::runtime_error("one in four");
			return i;
		}));
	for (auto &f : all) {
		try {
			sum += f.get();
		} catch (const std::runtime_error &) {
			thrown++;
		}
	}
	return sum * 1000 + thrown;
}

static long atomics()
{
	std::atomic<int> turn{0};
	std::thread other([&] {
		for (int i = 0; i < N; i++) {
			turn.wait(2 * i);
			if (i % 100 == 0) // longer than wait() spins and yields, also on a busy machine
				std::this_thread::sleep_for(std::chrono::milliseconds(30));
			turn++;
			turn.notify_one();
		}
	});
	for (int i = 0; i < N; i++) {
		turn++;
		turn.notify_one();
		turn.wait(2 * i + 1);
	}
	other.join();
	return turn;
}

int main()
{
	std::cout << "queue " << queue() << "\nshared " << shared() << "\nfutures " << futures() << "\natomics "
		  << atomics() << std::endl;
}
